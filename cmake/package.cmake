# SPDX-License-Identifier: Apache-2.0
# Debian packages, by cpack in a build folder whose prefix is /usr (sh setup.sh package): the program with its data, libraries
# for C, for Python, and the module for MPI by itself, which would draw all of OpenMPI in.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "stepsim maintainers <maintainers@stepsim.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program dev python)
if(TARGET stepsim-mpi)
    list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(same "stepsim (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME stepsim)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# Opened at need (sim/base/xml.c), which shlibdeps does not see.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS libxml2)
if(LIBXML2_VERSION VERSION_GREATER_EQUAL 2.14)
    string(APPEND CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS -16)
endif()
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "bash-completion, python3-stepsim, stepsim-mpi")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${PROJECT_DESCRIPTION}
 A training job told in Megatron-LM's own flags, a model by its config.json and
 a cluster by a SimGrid platform file give time, where it goes, and memory of
 every rank, in milliseconds on a laptop.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libstepsim-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${same}, pkg-config, libhwloc-dev, libjansson-dev, libcminpack-dev, zlib1g-dev, libyaml-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Library and headers of stepsim
 Headers, the static library, a CMake package and a pkg-config file.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-stepsim)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
# What Python has compiled there goes with the package.
file(WRITE ${CMAKE_BINARY_DIR}/package/prerm "#!/bin/sh\nset -e\nrm -rf ${CMAKE_INSTALL_PREFIX}/${SS_PYTHON_DIR}/stepsim/__pycache__\n")
file(CHMOD ${CMAKE_BINARY_DIR}/package/prerm PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${same}, python3 (>= 3.9)")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "stepsim for Python
 Jobs as keywords, answers as dicts, tables as rows ready for pandas.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME stepsim-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "${same}")
set(CPACK_COMPONENT_MPI_DESCRIPTION "Searches of stepsim on many machines
 The module by which processes that mpirun started share a search or a sweep.")
include(CPack)
