# SPDX-License-Identifier: BSD-3-Clause
import glob
import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Gpuring(AutotoolsPackage):
    """A coll component for Open MPI: MPI collectives as rings, trees and mailboxes, on buffers in
    host memory and, with CUDA, in device memory. `mpirun --mca coll gpuring` selects it."""

    homepage = "https://www.open-mpi.org/"
    # The archive that `make dist` makes, in the current directory.
    manual_download = True
    url = f"file://{os.getcwd()}/gpuring-0.9.0.tar.gz"

    license("BSD-3-Clause")

    version("0.9.0")

    variant("cuda", default=False, description="Collectives on device buffers in CUDA kernels")
    variant("ucx", default=True, description="Links between nodes over UCX")
    variant("hwloc", default=True, description="NUMA nodes, and the order of GPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openmpi@4.1.4:4.1,5.0.7:5.0")
    depends_on("cuda@12:", type="build", when="+cuda")
    depends_on("ucx@1.11:", when="+ucx")
    depends_on("hwloc@2.1:", when="+hwloc")
    depends_on("python@3.9:", type="run")  # gpuring_ab

    # Spack's Open MPI is installed without its internal headers. They come from its source of the
    # same version, configured as it was. Checksums: those of the package openmpi.
    for release, checksum in (
        ("5.0.10", "0acecc4fc218e5debdbcb8a41d182c6b0f1d29393015ed763b2a91d5d7374cc6"),
        ("5.0.9", "dfb72762531170847af3e4a0f21d77d7b23cf36f67ce7ce9033659273677d80b"),
        ("5.0.8", "53131e1a57e7270f645707f8b0b65ba56048f5b5ac3f68faabed3eb0d710e449"),
        ("5.0.7", "119f2009936a403334d0df3c0d74d5595a32d99497f9b1d41e90019fee2fc2dd"),
        ("4.1.8", "466f68e3132a1dc02710cc2011fafced8336d98359fa2dae4dddcfd5719f12a9"),
        ("4.1.7", "54a33cb7ad81ff0976f15a6cc8003c3922f0f3d8ceed14e1813ef3603f22cd34"),
        ("4.1.6", "f740994485516deb63b5311af122c265179f5328a0d857a567b85db00b11e415"),
        ("4.1.5", "a640986bc257389dd379886fdae6264c8cfa56bc98b71ce3ae3dfbd8ce61dbe3"),
        ("4.1.4", "92912e175fd1234368c8730c03f4996fe5942e7479bb1d10059405e7f2b3930d"),
    ):
        resource(
            name="openmpi",
            url="https://www.open-mpi.org/software/ompi/"
            f"v{release.rpartition('.')[0]}/downloads/openmpi-{release}.tar.bz2",
            sha256=checksum,
            destination="openmpi-source",
            when=f"^openmpi@={release}",
        )

    @property
    def openmpi_source(self):
        return glob.glob(join_path(self.stage.source_path, "openmpi-source", "openmpi-*"))[0]

    @run_before("configure")
    def configure_openmpi(self):
        openmpi = self.spec["openmpi"]
        with working_dir(self.openmpi_source):
            Executable("./configure")(
                f"--prefix={openmpi.prefix}", *openmpi.package.configure_args()
            )

    def configure_args(self):
        args = [
            f"--with-ompi={self.spec['openmpi'].prefix}",
            f"--with-ompi-src={self.openmpi_source}",
            f"--with-component-dir={self.prefix.lib.openmpi}",
            f"--with-help-dir={self.prefix.share.openmpi}",
        ]
        for part in ("cuda", "ucx", "hwloc"):
            if self.spec.satisfies(f"+{part}"):
                args.append(f"--with-{part}={self.spec[part].prefix}")
            else:
                args.append(f"--without-{part}")
        return args

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        path = f"OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:{self.prefix.lib.openmpi}"
        env.set(*path.split("=", 1))
        # PRRTE over an external PMIx replaces the variable by PMIx's component path; the agent that
        # starts ranks sets it again.
        env.set("PRTE_MCA_odls_base_exec_agent", f"/usr/bin/env {path}")

    def test_schedule(self):
        """a program of the package runs"""
        program = which(self.prefix.bin.gpuring_sched)
        out = program("allreduce", "ring", "-n", "4", output=str.split, error=str.split)
        check_outputs("steps per rank: 7", out)
