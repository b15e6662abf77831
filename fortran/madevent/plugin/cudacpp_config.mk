# In an output of MG5aMC where what is built lies, by level of SIMD.
override BACKEND = cppauto
override CUDACPP_BUILDDIR = .
