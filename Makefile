# mebridge: `make help` lists the targets.

FC := $(if $(filter default undefined,$(origin FC)),gfortran,$(FC))
# On ARM gfortran contracts HELAS's differences to multiply-adds, which changes |M|^2 by 1e-11. (On x86-64 it does so with
# -mfma, and comparisons fail as well.)
FFLAGS ?= -O3$(if $(filter aarch64 arm64,$(shell uname -m)), -ffp-contract=off)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
RELEASE := $(abspath $(TARGET))/release
BUILD ?= build/fortran
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)

.PHONY: help run event-loop events build rust wheel test test-arm bench bench-against bench-events amd-table test-fortran tests-fortran install uninstall clean rust-there gfortran-there

help:
	@echo "make run        build, then make event-loop and make events"
	@echo "make event-loop integrate g g -> t tbar with the Fortran and the Rust matrix element (ARGS=--help)"
	@echo "make events     events of e+ e- > t t~ from a run card, with the cross section compared with MadEvent's; no Fortran compiler"
	@echo "make test       all tests that this machine can run; make test-fortran, make test-arm: parts of it"
	@echo "make build      library, command and Fortran event loop"
	@echo "make wheel      the Python package for glibc 2.28 and later (GLIBC=...; ARCH=aarch64 from any machine)"
	@echo "make install    library, headers, command, Fortran module below PREFIX=/usr/local (LIBDIR=...); make uninstall"
	@echo "make bench      time each stage (ARGS=color: some of them); docs/bench.md"
	@echo "make bench-against COMMIT=...   compare this library with that commit's; docs/testing.md"
	@echo "make bench-events               unweighted events per second (ARGS=--help); docs/events.md"
	@echo "make amd-table  registers and scratch of kernels on AMD GPUs, from clang; docs/gpu.md"
	@echo "make clean      remove what was built"
	@echo "Fortran compiler: FC=gfortran FFLAGS=-O3"

# Without a Fortran compiler the events are still made.
run: rust
	@if fortran/require_gfortran.sh $(FC); then $(MAKE) --no-print-directory event-loop; \
	else echo "mebridge: the Fortran event loop is skipped"; fi
	@examples/ee_tt/run.sh $(RELEASE)/mebridge build/ee_tt

event-loop: $(BUILD)/event_loop
	@$(BUILD)/event_loop $(ARGS)

events: rust
	@examples/ee_tt/run.sh $(RELEASE)/mebridge build/ee_tt

build: rust $(BUILD)/event_loop

# The library is linked twice, the second time with the SONAME of the installed library.
rust: rust-there
	@$(CARGO) build --release --locked --workspace
	@$(CARGO) build --quiet --release --locked --workspace \
	    --features mebridge-shared/installed --example mebridge_installed

wheel: rust-there
	@python/wheel.sh $(or $(GLIBC),2.28) $(or $(ARCH),x86_64)

rust-there:
	@fortran/require_rust.sh

gfortran-there:
	@fortran/require_gfortran.sh $(FC)

test:
	+@FC="$(FC)" tests/run.sh

test-arm: rust-there
	+@CARGO="$(CARGO)" tests/arm.sh $(ARGS)

amd-table: rust-there
	@$(CARGO) test --locked -p mebridge-gpu --lib -- --ignored --nocapture --exact engine::amd_tests::table

bench: rust-there
	@$(CARGO) bench --locked --workspace --bench stages -- $(ARGS)

bench-against: rust-there
	@CARGO="$(CARGO)" benches/against/run.sh "$(COMMIT)" $(ARGS)

bench-events: rust
	@CARGO_TARGET_DIR="$(TARGET)" benches/events/run.sh $(ARGS)

clean:
	rm -rf build
	$(CARGO) clean

# Installation. `sudo make install` after `make build` does not need cargo, which root rarely has.

DARWIN := $(filter Darwin,$(shell uname -s))
BUILT := examples/libmebridge_installed.$(if $(DARWIN),dylib,so)
# The SONAME, the file, and the name for -lmebridge.
SONAME := $(if $(DARWIN),libmebridge.0.dylib,libmebridge.so.0)
SOFILE := $(if $(DARWIN),libmebridge.$(VERSION).dylib,libmebridge.so.$(VERSION))
SOLINK := $(if $(DARWIN),libmebridge.dylib,libmebridge.so)
AT := $(DESTDIR)$(PREFIX)
ATLIB := $(DESTDIR)$(LIBDIR)
COMPLETIONS := bash-completion/completions/mebridge zsh/site-functions/_mebridge fish/vendor_completions.d/mebridge.fish

install:
	@if command -v $(CARGO) >/dev/null 2>&1 || [ ! -f $(RELEASE)/$(BUILT) ]; then $(MAKE) --no-print-directory rust; fi
	rm -rf build/share
	$(RELEASE)/mebridge-tools share build/share
	install -d $(AT)/bin $(AT)/include $(ATLIB)/pkgconfig $(AT)/share/mebridge/fortran $(AT)/share/man/man1
	install -m 755 $(RELEASE)/mebridge $(AT)/bin/
	install -m 755 $(RELEASE)/$(BUILT) $(ATLIB)/$(SOFILE)
	ln -sf $(SOFILE) $(ATLIB)/$(SONAME)
	ln -sf $(SONAME) $(ATLIB)/$(SOLINK)
	install -m 644 include/mebridge.h include/mebridge_umami.h $(AT)/include/
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' mebridge.pc.in >build/mebridge.pc
	install -m 644 build/mebridge.pc $(ATLIB)/pkgconfig/
	install -m 644 fortran/mebridge.f90 $(AT)/share/mebridge/fortran/
	install -m 644 build/share/man/man1/*.1 $(AT)/share/man/man1/
	for file in $(COMPLETIONS); do \
	    install -d $$(dirname $(AT)/share/$$file) && install -m 644 build/share/$$file $(AT)/share/$$file || exit 1; \
	done

uninstall:
	rm -f $(AT)/bin/mebridge $(AT)/include/mebridge.h $(AT)/include/mebridge_umami.h $(ATLIB)/pkgconfig/mebridge.pc
	rm -f $(ATLIB)/$(SOLINK) $(ATLIB)/$(SONAME) $(ATLIB)/$(SOFILE)
	rm -f $(AT)/share/man/man1/mebridge.1 $(AT)/share/man/man1/mebridge-*.1
	rm -f $(addprefix $(AT)/share/,$(COMPLETIONS))
	rm -rf $(AT)/share/mebridge

# The Fortran side. All objects and modules go to $(BUILD).

GG_TTX := fortran/gg_ttx
GG_TTX_SOURCES := $(wildcard $(GG_TTX)/Source/DHELAS/*.f $(GG_TTX)/Source/MODEL/*.f $(GG_TTX)/SubProcesses/P1_gg_ttx/*.f)
GG_TTX_INCLUDED := $(wildcard $(GG_TTX)/Source/*.inc $(GG_TTX)/Source/MODEL/*.inc $(GG_TTX)/SubProcesses/P1_gg_ttx/*.inc)
GG_TTX_OBJECTS := $(addprefix $(BUILD)/gg_ttx/,$(notdir $(GG_TTX_SOURCES:.f=.o)))
vpath %.f $(sort $(dir $(GG_TTX_SOURCES)))
INCLUDES := -I$(GG_TTX)/Source -I$(GG_TTX)/Source/MODEL -I$(GG_TTX)/SubProcesses/P1_gg_ttx
MODULE_FLAG ?= -J
COMPILE = $(FC) $(FFLAGS) $(INCLUDES) $(MODULE_FLAG) $(BUILD) -I$(BUILD)
LINK = -L$(RELEASE) -lmebridge -Wl,-rpath,$(RELEASE)

$(BUILD)/gg_ttx/%.o: %.f $(GG_TTX_INCLUDED) | gfortran-there
	@mkdir -p $(@D)
	@echo '  $(FC) $(@F)'
	@$(COMPILE) -c $< -o $@

$(BUILD)/%.o: fortran/%.f90 | gfortran-there
	@mkdir -p $(@D)
	@echo '  $(FC) $(@F)'
	@$(COMPILE) -c $< -o $@

$(BUILD)/reference.o: $(GG_TTX)/Source/vector.inc

SUPPORT := $(addprefix $(BUILD)/,mebridge.o random_numbers.o two_body.o reference.o) $(GG_TTX_OBJECTS)

$(BUILD)/event_loop: fortran/event_loop.f90 $(SUPPORT) | rust
	@echo '  $(FC) $(@F)'
	@$(COMPILE) $^ $(LINK) -o $@

# Comparisons in tests/fortran: each .f90 except the two modules is a program.

COMPARISONS := $(filter-out harness engine,$(basename $(notdir $(wildcard tests/fortran/*.f90))))
COMPARISON_PROGRAMS := $(addprefix $(BUILD)/tests/,$(COMPARISONS))

$(BUILD)/harness.o $(BUILD)/engine.o: $(BUILD)/%.o: tests/fortran/%.f90 $(SUPPORT) | gfortran-there
	@echo '  $(FC) $(@F)'
	@$(COMPILE) -c $< -o $@

$(BUILD)/engine.o: $(BUILD)/harness.o

$(COMPARISON_PROGRAMS): $(BUILD)/tests/%: tests/fortran/%.f90 $(BUILD)/harness.o $(BUILD)/engine.o $(SUPPORT) | rust
	@mkdir -p $(@D)
	@echo '  $(FC) $(@F)'
	@$(COMPILE) $^ $(LINK) -o $@

tests-fortran: $(COMPARISON_PROGRAMS)

test-fortran: tests-fortran
	@tests/fortran/run.sh $(BUILD)/tests
