//! The library as `make install` installs it: that of the crate `mebridge`, linked once more with a SONAME.
//!
//! The one that cargo leaves in `target/` has none, on purpose: under the name of one of the plugin's libraries a
//! program that is linked with it has to look for that name when it starts.

// Links it; its C functions are exported as from any library.
extern crate mebridge;
