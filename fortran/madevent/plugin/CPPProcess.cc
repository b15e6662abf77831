// In an output of MG5aMC the plugin's matrix element; nothing here.
