//! The shared library, libmebridge.so: the functions of `mebridge_capi`.
//!
//! It has no SONAME, on purpose: under the name of one of the plugin's libraries a program that is linked with it has
//! to look for that name when it starts.

// Links it; its C functions are exported as from any library.
extern crate mebridge_capi;
