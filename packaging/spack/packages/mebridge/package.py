"""For Spack: `spack repo add packaging/spack`, then in a checkout `spack dev-build mebridge@0.2.0`."""

from spack.package import *


class Mebridge(MakefilePackage):
    """Matrix elements for MadEvent, MadSpace and Python: a library, the command mebridge, and the Python package."""

    # No release has an address yet: the source is the checkout of dev-build.
    version("0.2.0")

    variant("python", default=True, description="The Python package")

    license("Apache-2.0 OR MIT")

    depends_on("c", type="build")
    depends_on("rust@1.91:", type="build")
    depends_on("gmake", type="build")
    with when("+python"):
        extends("python@3.10:")
        depends_on("py-numpy@1.23:", type=("build", "run"))
        depends_on("py-pip", type="build")
        depends_on("py-maturin@1.9:1", type="build")

    def setup_build_environment(self, env):
        # Cargo keeps what it downloads out of the home directory.
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo"))

    def build(self, spec, prefix):
        make("build")

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}")
        if spec.satisfies("+python"):
            with working_dir("python"):
                pip("install", "--no-deps", "--no-build-isolation", f"--prefix={prefix}", ".")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.mebridge)("info", "g g > t t~")
