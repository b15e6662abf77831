"""AMD's GPUs in MadSpace as far as that goes without one: up to the library of a matrix element in a context of HIP.

MadSpace's kernels are machine code of AMD's GPUs, so that no event can be made here. The host sides of both run on the
stand-in of crates/testing/src/hip.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from common import need

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAND_IN = ROOT / "crates/testing/src/hip"
# What generate_events(device="hip") does until MadSpace has the libraries of its matrix elements.
PROGRAM = """
import ctypes, pathlib, sys
import madspace
import mebridge
from mebridge import _generator, _gpu

folder = pathlib.Path(sys.argv[1])
process = mebridge.Process("g g > t t~")
library = str(process.library(folder / "matrix_element.so", backend="hip"))
_gpu.check(madspace, ["hip:1"])
context = madspace.Context(_generator._device("hip:1"))
with _gpu.compiled([library], ["hip:1"]):
    element = context.load_matrix_element(library, "")
print("particles", element.particle_count())
device = ctypes.c_int(-1)
ctypes.CDLL(library).umami_get_meta(0, ctypes.byref(device))
print("device", device.value)
try:
    _gpu.check(madspace, ["hip:2"])
except mebridge.Error as error:
    print("told", error)
"""


class MadSpaceOnHip(unittest.TestCase):
    def test_a_context_of_hip_loads_a_library(self):
        need("AMD's GPUs in MadSpace", "madspace")
        compiler = shutil.which(os.environ.get("CXX", "c++"))
        if compiler is None or sys.platform != "linux":
            print("SKIPPED: AMD's GPUs in MadSpace: there is no C++ compiler", file=sys.stderr)
            self.skipTest("there is no C++ compiler")
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "libamdhip64.so.6"
            command = [compiler, "-std=c++17", "-O1", "-fPIC", "-shared", "-Wl,-soname,libamdhip64.so.6"]
            command += [f'-DCOMPILER="{compiler}"', f'-DHOST="{ROOT / "cuda/host.h"}"', '-DCONTRACT=""']
            command += [f'-DEMULATOR="{STAND_IN / "emulator.py"}"', f'-DBARE_HIP="{ROOT / "cuda/bare_hip.h"}"']
            sources = [STAND_IN / "driver.cc", ROOT / "python/tests/hip_runtime.cc"]
            subprocess.run([*command, *sources, "-o", library, "-ldl", "-pthread"], check=True)
            for name in ("libhiprtc.so.6", "libhipblas.so.2", "librocblas.so.4"):
                (pathlib.Path(folder) / name).symlink_to(library)
            environment = os.environ | {"MEBRIDGE_HIP": folder, "LD_LIBRARY_PATH": folder, "CUDACPP_RUNTIME_CACHE": "off"}
            run = [sys.executable, "-c", PROGRAM, folder]
            ran = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("particles 4", ran.stdout)
        # UMAMI's number of HIP.
        self.assertIn("device 2", ran.stdout)
        self.assertRegex(ran.stdout, "told hip:2 cannot be used .*there is no GPU 2: .*HIP_VISIBLE_DEVICES")


if __name__ == "__main__":
    unittest.main()
