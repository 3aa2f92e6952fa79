# Headers, both libraries, the pkg-config file and the CMake package. Nothing of it names the
# prefix, so the installed tree can be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mcds)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

foreach(name shared static)
    install(TARGETS mcds_${name} EXPORT mcds-${name})
    install(EXPORT mcds-${name} NAMESPACE mcds:: FILE mcds-${name}.cmake
            DESTINATION ${package_dir})
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mcds-config.cmake.in
    ${PROJECT_BINARY_DIR}/mcds-config.cmake INSTALL_DESTINATION ${package_dir}
    NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# While the major version is 0, every minor version may change what programs see.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mcds-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mcds-config.cmake
              ${PROJECT_BINARY_DIR}/mcds-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/mcds-dependencies.cmake
        DESTINATION ${package_dir})

# pkg-config finds the prefix from where mcds.pc lies: as many steps up as its directory is deep.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    message(FATAL_ERROR "mcds: give CMAKE_INSTALL_LIBDIR and CMAKE_INSTALL_INCLUDEDIR "
                        "relative to the prefix; absolute ones cannot be moved")
endif()
file(RELATIVE_PATH MCDS_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" MCDS_PC_TO_PREFIX ${MCDS_PC_TO_PREFIX})
# The flags of the library that has dlopen, if it is one of its own.
list(TRANSFORM CMAKE_DL_LIBS PREPEND " -l" OUTPUT_VARIABLE MCDS_PC_DL_LIBS)
string(REPLACE ";" "" MCDS_PC_DL_LIBS "${MCDS_PC_DL_LIBS}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/mcds.pc.in ${PROJECT_BINARY_DIR}/mcds.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mcds.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
