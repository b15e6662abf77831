# In an output of MG5aMC it compiles the plugin's C++, which a linked one must not do.
all:
	@echo 'the makefile of the plugin was asked'; exit 1
