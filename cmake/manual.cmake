# The manual pages, from the help of the command, the headers and the documents. Without Python there
# are none.
find_package(Python3 3.10 COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
    message(STATUS "mcds: no manual pages without Python 3.10")
    return()
endif()

set(manual_pages ${PROJECT_BINARY_DIR}/man)
file(GLOB manual_sources CONFIGURE_DEPENDS include/*.h include/mcds/*.h cli/help/man/*.in)
set(manual_command)
if(TARGET mcds)
    set(manual_command ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:mcds>)
endif()
add_custom_command(OUTPUT ${manual_pages}.stamp
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/manuals ${manual_pages} ${manual_command}
    COMMAND ${CMAKE_COMMAND} -E touch ${manual_pages}.stamp
    DEPENDS tools/manuals docs/formats.md docs/guarantees.md ${manual_sources} $<TARGET_NAME_IF_EXISTS:mcds>
    COMMENT "Generating manual pages" VERBATIM)
add_custom_target(mcds_manual ALL DEPENDS ${manual_pages}.stamp)

if(MCDS_INSTALL)
    install(DIRECTORY ${manual_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()
