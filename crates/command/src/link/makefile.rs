//! The makefile code that `Source/make_opts` includes in a linked P directory.
//!
//! Every makefile of an output includes `Source/make_opts` first. A line at its end includes `mebridge.mk` if that
//! exists, which is the case in linked P directories. MG5aMC rewrites the head of make_opts at each launch and keeps
//! the rest. Only the link line of `madevent` changes: our objects come first, and the linker uses the first definition
//! of a routine (`-z muldefs`). `madevent_forhel`, which finds vanishing helicities, and `gensym` stay unchanged.

use super::layout::CallerKind;
use super::matrix_element::MatrixElement;
use super::nlo::{NloElement, ReplacedRoutine};
use super::sources::SCRIPT;
use std::fmt::Write;
use std::path::Path;

/// Name of the file.
pub const NAME: &str = "mebridge.mk";
/// The file that all makefiles of an output include.
pub const HOOKED: &str = "Source/make_opts";
/// Our line in [`HOOKED`].
const HOOK: &str = "-include mebridge.mk # mebridge link";
/// The makefile that replaces the plugin's.
pub const PLUGIN: &str = "mebridge_cudacpp.mk";

/// Adds our line to `Source/make_opts`, which keeps its ending with or without a newline.
pub fn hook(make_opts: &str) -> String {
    match make_opts.is_empty() || make_opts.ends_with('\n') {
        true => format!("{make_opts}{HOOK}\n"),
        false => format!("{make_opts}\n{HOOK}"),
    }
}

/// Removes our line, whatever else has changed.
pub fn unhook(make_opts: &str) -> String {
    let lines = make_opts.split_inclusive('\n');
    let mut text: String = lines.filter(|line| !is_hook(line)).collect();
    let unended = make_opts.lines().last().is_some_and(is_hook) && !make_opts.ends_with('\n');
    if unended && text.ends_with('\n') {
        text.pop();
    }
    text
}

/// Whether our line is in `Source/make_opts`, as a line of its own for make.
pub fn is_hooked(make_opts: &str) -> bool {
    let mut before = "";
    make_opts.split_inclusive('\n').any(|line| {
        let is = is_hook(line) && !continues_line(before);
        before = line;
        is
    })
}

/// Whether a line is exactly ours: a user's comment may mention it.
fn is_hook(line: &str) -> bool {
    line.trim_end() == HOOK
}

/// Whether make would append a following line to the last one.
pub fn continues_line(text: &str) -> bool {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let backslashes = line.len() - line.trim_end_matches('\\').len();
    backslashes % 2 == 1
}

/// Adds dependencies of objects on the batch size. MG5aMC's own makefiles have them only for some objects: after a
/// change of `vector_size` in the run card of a compiled output, the others would keep the old size, and cross sections
/// would be wrong.
fn sized(vector_inc: &str) -> String {
    format!("$(patsubst %.f,%.o,$(wildcard *.f)): {vector_inc}\n")
}

/// Quotes a path in a makefile value that a shell will see; `None` if that is impossible: a value cannot contain a
/// newline, and a backslash before `#` means different things in different versions of make.
fn quoted(path: &Path) -> Option<String> {
    let path = path.to_str()?;
    if path.contains(|c: char| c.is_control()) || path.contains("\\#") {
        return None;
    }
    let path = path.replace('\'', "'\\''");
    Some(format!("'{}'", path.replace('$', "$$").replace('#', "\\#")))
}

/// Returns `mebridge.mk` for a folder in Source, with the path of `vector.inc`.
pub fn source_makefile(vector_inc: &str) -> String {
    let mut m = format!(
        "# Written by `mebridge link`; `mebridge unlink` removes it.\n\
         mebridge_goal := $(.DEFAULT_GOAL)\n{}",
        sized(vector_inc)
    );
    if vector_inc == "vector.inc" {
        m.push_str("$(LIBDIR)libpdf.$(libext): vector.inc\n");
    }
    m.push_str(".DEFAULT_GOAL := $(mebridge_goal)\n");
    m
}

/// Returns the products that make builds in a P directory from our files, for matrix elements of these numbers.
pub fn products(numbers: &[String]) -> impl Iterator<Item = String> {
    let of_element = ["handle", "matrix", "fortran", "batch"];
    let of_element = of_element.map(|kind| (kind, "o"));
    let of_element = of_element
        .into_iter()
        .chain([("nhel", "inc"), ("weak", "inc")]);
    let products = of_element.flat_map(|(kind, ending)| {
        let names = numbers.iter();
        names.map(move |n| format!("mebridge_{kind}{n}.{ending}"))
    });
    let of_directory = ["process", "plugin", "clock"].map(|kind| format!("mebridge_{kind}.o"));
    products.chain(of_directory)
}

/// Returns `mebridge.mk` for a P directory whose `madevent` is Fortran. `library` is the folder of the library, where
/// executables look for it if it is not in the output; `vector` whether there is a Source/vector.inc.
pub fn fortran_makefile(
    elements: &[MatrixElement],
    library: Option<&Path>,
    vector: bool,
) -> String {
    let mut m = String::from(HEAD);
    m.push_str(&interposable(""));
    m.push_str("mebridge_objects := mebridge_process.o");
    for element in elements {
        let n = &element.number;
        let _ = write!(
            m,
            " mebridge_handle{n}.o mebridge_matrix{n}.o mebridge_fortran{n}.o"
        );
        if element.batch.is_some() {
            let _ = write!(m, " mebridge_batch{n}.o");
        }
    }
    m.push_str(&linked("madevent", library));
    m.push_str(
        "# With helicity recycling MATRIX<i> of matrix<i>_optim.f gives all helicities at once, for a table of its own.\n",
    );
    for element in elements {
        let n = &element.number;
        let _ = write!(
            m,
            "mebridge_handle{n}.o: mebridge_handle{n}.f ../../Source/MODEL/input.inc\n\
             \t$(mebridge_compile)\n"
        );
        if element.batch.is_some() {
            let _ = write!(
                m,
                "mebridge_batch{n}.o: mebridge_batch{n}.f\n\t$(mebridge_compile)\n"
            );
        }
        let file = match element.is_recycled() {
            true => format!("matrix{n}_optim.f"),
            false => format!("matrix{n}.f"),
        };
        let _ = write!(
            m,
            "mebridge_matrix{n}.o: {file} mebridge_matrix{n}.f mebridge_matrix{n}_all.f\n\
             \t@if grep -qi '^ *SUBROUTINE *MATRIX{n} *(' {file}; then \\\n\
             \t  awk -f mebridge_nhel.awk {file} > mebridge_nhel{n}.inc && \\\n\
             \t  echo '$(FC) -c mebridge_matrix{n}_all.f' && \\\n\
             \t  $(FC) $(FFLAGS) -I. -I../../Source -c mebridge_matrix{n}_all.f -o $@; \\\n\
             \telse \\\n\
             \t  echo '$(FC) -c mebridge_matrix{n}.f' && \\\n\
             \t  $(FC) $(FFLAGS) -I. -I../../Source -c mebridge_matrix{n}.f -o $@; \\\n\
             \tfi\n"
        );
        // The Fortran's own matrix element under another name, for check mode; the other definitions of its object must
        // not come before those that MadEvent calls.
        m.push_str(&own_fortran(
            n,
            &file.replace(".f", ".o"),
            &format!("matrix{n}"),
            None,
        ));
    }
    if vector {
        m.push_str(&sized("../../Source/vector.inc"));
    }
    m.push_str(TAIL);
    m
}

/// Returns `mebridge.mk` for a P directory of aMC@NLO. `gensym`, which finds the channels, stays the Fortran's.
pub fn nlo_makefile(elements: &[NloElement], library: Option<&Path>) -> String {
    let mut m = String::from(HEAD);
    m.push_str("mebridge_objects := mebridge_process.o");
    let routines: Vec<ReplacedRoutine> = elements.iter().flat_map(NloElement::routines).collect();
    for NloElement { number: n, .. } in elements {
        let _ = write!(m, " mebridge_handle{n}.o");
    }
    for ReplacedRoutine { number: n, .. } in &routines {
        let _ = write!(m, " mebridge_matrix{n}.o mebridge_fortran{n}.o");
    }
    m.push_str(" mebridge_clock.o");
    let executables = CallerKind::Nlo.executables().join(" ");
    m.push_str(&linked(&executables, library));
    let _ = write!(
        m,
        "# They ask for the CPU time so often that the system's clock takes much of it.\n\
         {executables}: private override LDFLAGS += -Wl,--wrap=_gfortran_cpu_time_4\n\
         mebridge_clock.o: mebridge_clock.f\n\
         \t$(mebridge_compile)\n"
    );
    for NloElement { number: n, .. } in elements {
        let _ = write!(
            m,
            "mebridge_handle{n}.o: mebridge_handle{n}.f ../../Source/MODEL/input.inc\n\
             \t$(mebridge_compile)\n"
        );
    }
    let within = routines.iter().filter(|routine| routine.called_within);
    let objects: Vec<String> = within.map(|r| format!("{}.o", r.object)).collect();
    if !objects.is_empty() {
        m.push_str(&interposable(&format!("{}: ", objects.join(" "))));
    }
    for routine in &routines {
        let (n, object) = (&routine.number, format!("{}.o", routine.object));
        let _ = write!(
            m,
            "mebridge_matrix{n}.o: mebridge_matrix{n}.f\n\
             \t$(mebridge_compile)\n"
        );
        let called = routine.called_within.then_some(routine.name.as_str());
        m.push_str(&own_fortran(n, &object, &routine.name, called));
    }
    m.push_str(TAIL);
    m
}

/// Beginning of a P directory's file, which must not change the default goal.
const HEAD: &str = "# Written by `mebridge link`; `mebridge unlink` removes it.\n\
                    mebridge_goal := $(.DEFAULT_GOAL)\n";
/// Its end.
const TAIL: &str = "\n.DEFAULT_GOAL := $(mebridge_goal)\n";

/// Returns the flags with which calls within an object go through the symbol, so that the linker can redirect them: of
/// all objects, or of `object: `.
fn interposable(object: &str) -> String {
    format!(
        "# Calls within an object must go through the symbol, so that the linker can turn them.\n\
         {object}FFLAGS += -fPIC\n\
         ifneq (,$(findstring GNU,$(shell $(FC) --version 2>/dev/null)))\n\
         {object}FFLAGS += -fsemantic-interposition\n\
         endif\n"
    )
}

/// Returns the end of the line of our objects, and the rules that link these targets with them and the library.
fn linked(targets: &str, library: Option<&Path>) -> String {
    format!(
        "\n\n\
         {targets}: private override FC := $(FC) $(mebridge_objects)\n\
         {targets}: private override LDFLAGS += -Wl,-z,muldefs -L../../lib -lmebridge \\\n  \
         -Wl,-rpath,'$$ORIGIN' -Wl,-rpath,'$$ORIGIN/../../lib'{}\n\
         {targets}: $(mebridge_objects)\n\n\
         # Each time, without making them anew: a file may come back with an old time.\n\
         {targets}: | mebridge_sources\n\
         .PHONY: mebridge_sources\n\
         mebridge_sources:\n\
         \t@sh {SCRIPT}\n\n\
         mebridge_compile = $(FC) $(FFLAGS) -I. -I../../Source -c $< -o $@\n\
         mebridge_process.o: mebridge_process.s $(wildcard mebridge_matrix*.process)\n\
         \t$(FC) -c $< -o $@\n",
        match library.and_then(quoted) {
            Some(folder) => format!(" -Xlinker -rpath -Xlinker {folder}"),
            None => String::new(),
        }
    )
}

/// Returns the rule for the Fortran's own matrix element under the name `mebfortran<n>`, from its object. `called` is a
/// routine that its object calls through the symbol, unless it was compiled otherwise.
fn own_fortran(n: &str, object: &str, routine: &str, called: Option<&str>) -> String {
    let check = called.map_or(String::new(), |called| {
        format!(
            "\t@readelf -rW $< | grep -q ' {called}_ ' || {{ \\\n\
             \t  echo 'mebridge: {object} was compiled such that the linker cannot replace {called} in it; remove it, and \
             make again' >&2; exit 1; }}\n"
        )
    });
    format!(
        "mebridge_fortran{n}.o: {object} mebridge.mk\n{check}\
         \tnm -g --defined-only $< | awk '$$2 == \"T\" && $$3 != \"{routine}_\" {{ print $$3 }}' > mebridge_weak{n}.inc\n\
         \tobjcopy --weaken-symbols=mebridge_weak{n}.inc --redefine-sym {routine}_=mebfortran{n}_ $< $@\n"
    )
}

/// `mebridge_nhel.awk`: extracts the number of helicities and their table from `SMATRIX<i>` in a file of helicity
/// recycling.
pub const NHEL: &str = "\
# Written by `mebridge link`; `mebridge unlink` removes it.
# Prints the parameter NCOMB, and the table NHEL with its values, of the first routine of a file.
/^ +END *$/ { exit }
/^     [^ 0]/ { if (on) print; next }
{ on = 0 }
/^[Cc*!]/ { next }
/PARAMETER *\\( *NCOMB *=/ && !count { count = 1; print; print \"      INTEGER NHEL(NEXTERNAL,NCOMB)\"; next }
/DATA *\\( *NHEL *\\(/ { on = 1; print }
";

/// Returns `mebridge.mk` for a P directory with the plugin: its libraries are replaced by ours, and `mebridge_plugin.f`
/// checks MadEvent's settings. Only the plugin's makefiles know the folder of the executables.
pub fn with_plugin() -> String {
    let vector_inc = "../../Source/vector.inc";
    format!(
        "# Written by `mebridge link`; `mebridge unlink` removes it.\n\
         mebridge_goal := $(.DEFAULT_GOAL)\n\
         # What the plugin's makefile builds its C++ with.\n\
         override CUDACPP_MAKEFILE := {PLUGIN}\n\
         %devent_cpp %devent_cuda %devent_hip: private override FC := $(FC) {wrapped} mebridge_plugin.o\n\
         driver_cudacpp.o: mebridge_plugin.o\n\
         mebridge_plugin.o: mebridge_plugin.f\n\
         \t$(FC) $(FFLAGS) -c $< -o $@\n\
         {sized}\
         $(patsubst %.f,%_cudacpp.o,$(wildcard *.f)): {vector_inc}\n\
         .DEFAULT_GOAL := $(mebridge_goal)\n",
        wrapped = WRAPPED.map(|name| format!("-Wl,--wrap={name}")).join(" "),
        sized = sized(vector_inc),
    )
}

/// The plugin's routines whose calls are redirected to `mebridge_plugin.f`.
const WRAPPED: [&str; 2] = ["fbridgecreate_", "fbridgegetngoodhel_"];

/// The makefile that replaces `cudacpp.mk`: puts the library where MadEvent looks for the plugin's.
pub const PLUGIN_MAKEFILE: &str = "\
# Written by `mebridge link`; `mebridge unlink` removes it.
# In the place of cudacpp.mk: libmebridge.so under the names of the plugin's libraries.
include ../../src/cudacpp_config.mk
mebridge_id := $(shell basename $(CURDIR) | awk -F_ '{print $$(NF-1)\"_\"$$NF}')
mebridge_kind := $(or $(filter cuda hip,$(BACKEND)),cpp)
mebridge_folder := ../../lib/$(if $(filter 1,$(USEBUILDDIR)),$(CUDACPP_BUILDDIR),.)
mebridge_up := $(if $(filter 1,$(USEBUILDDIR)),../,)
.PHONY: all clean cleanall distclean
all:
\tmkdir -p $(mebridge_folder) $(CUDACPP_BUILDDIR)
\tln -sf $(mebridge_up)libmebridge.so $(mebridge_folder)/libmebridge.so.0
\tln -sf $(mebridge_up)libmebridge.so $(mebridge_folder)/libmg5amc_common_$(mebridge_kind).so
\tln -sf $(mebridge_up)libmebridge.so $(mebridge_folder)/libmg5amc_$(mebridge_id)_$(mebridge_kind).so
clean cleanall distclean:
\tfind ../../lib -name 'libmg5amc_*.so' -type l -delete
\trm -f .cudacpplibs build.*/.cudacpplibs
";

#[cfg(test)]
mod tests {
    use super::super::card::MARK;
    use super::*;

    #[test]
    fn paths_pass_make_and_the_shell() {
        let quoted = |path: &str| quoted(path.as_ref());
        assert_eq!(quoted("/a b/é,c").unwrap(), "'/a b/é,c'");
        assert_eq!(quoted("/it's $5 #1").unwrap(), r"'/it'\''s $$5 \#1'");
        assert!(quoted("/a\nb").is_none() && quoted("/a\\#b").is_none());
    }

    #[test]
    fn the_hook_goes_in_and_out() {
        for before in ["A=1\nendef\n", "A=1\nendef", ""] {
            let hooked = hook(before);
            assert_eq!(hooked.matches(MARK).count(), 1);
            assert!(is_hooked(&hooked) && !is_hooked(before));
            assert_eq!(unhook(&hooked), before);
        }
        // A comment that mentions it is not ours, and neither is a line that make does not see.
        for other in [
            "A=1 # mebridge link\n",
            "# -include mebridge.mk # mebridge link\n",
            "A=1 \\\n-include mebridge.mk # mebridge link\n",
        ] {
            assert!(!is_hooked(other), "{other}");
        }
        assert!(is_hooked("-include mebridge.mk # mebridge link\r\n"));
        assert!(
            continues_line("A=1\\\n")
                && continues_line("A=\\")
                && !continues_line("A=\\\\\n")
                && !continues_line("")
        );
        // MG5aMC writes the file without a final newline.
        assert_eq!(unhook("B=2\n-include mebridge.mk # mebridge link"), "B=2");
    }
}
