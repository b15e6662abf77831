//! The library as `make install` installs it: linked once more, with a SONAME.

extern crate mebridge_capi;
