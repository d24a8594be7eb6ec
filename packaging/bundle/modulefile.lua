-- SPDX-License-Identifier: BSD-3-Clause
-- For Lmod; the file `modulefile` says the same in Tcl, with the reasons.
help("gpuring, a coll component for Open MPI. Select it with mpirun --mca coll gpuring.")
whatis("gpuring: rings and trees for Open MPI's collectives, on GPUs and hosts")
local root = myFileName():match("^(.*)/modulefiles/")
local path = "SYSTEM_DEFAULT:" .. root .. "/lib/gpuring"
conflict("gpuring")
prepend_path("PATH", root .. "/bin")
setenv("PRTE_MCA_odls_base_exec_agent", "/usr/bin/env OMPI_MCA_mca_base_component_path=" .. path)
if isFile(root .. "/etc/gpuring-mca.conf") then
    setenv("OMPI_MCA_mca_base_envar_file_prefix", root .. "/etc/gpuring-mca.conf")
else
    setenv("OMPI_MCA_mca_base_component_path", path)
end
