# SPDX-License-Identifier: Apache-2.0
"""Spack's recipe: to be put into a repository of packages as packages/stepsim/package.py."""
from spack.package import *


class Stepsim(CMakePackage):
    """Predicts iteration time and memory of LLM training on GPU clusters, without the GPUs."""

    homepage = "https://example.org/stepsim"
    url = "https://example.org/stepsim-0.3.0.tar.gz"

    license("Apache-2.0")

    version("0.3.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("simgrid", default=True, description="Build the SimGrid engine beside the native one")
    variant("hwloc", default=True, description="Read node files of hwloc")
    variant("calibrate", default=True, description="Fit numbers by cminpack")
    variant("serve", default=True, description="Build the web server of stepsim serve")
    variant("mpi", default=False, description="Build the module for searches on many machines")
    variant("python", default=True, description="Install the Python package")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libxml2")
    depends_on("jansson")
    depends_on("libyaml")
    depends_on("zlib-api")
    depends_on("simgrid@3.32:", when="+simgrid")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("cminpack", when="+calibrate")
    depends_on("libmicrohttpd", when="+serve")
    depends_on("openmpi", when="+mpi")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    extends("python", when="+python")

    conflicts("platform=darwin", msg="workers and launch scripts use Linux alone")
    conflicts("platform=windows")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define_from_variant("SS_SIMGRID", "simgrid"),
            self.define_from_variant("SS_HWLOC", "hwloc"),
            self.define_from_variant("SS_CMINPACK", "calibrate"),
            self.define_from_variant("SS_HTTP", "serve"),
            self.define_from_variant("SS_MPI", "mpi"),
            self.define("SS_TESTS", False),
            self.define("SS_PROBE", False),
        ]
        if self.spec.satisfies("+python"):
            args.append(self.define("SS_PYTHON_DIR", python_platlib))
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(join_path(self.prefix.bin, "stepsim"))("doctor")
