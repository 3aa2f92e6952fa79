# Writes OUT, a C file with the examples of the manual pages PAGES for `mcds help`:
#   cmake -DOUT=FILE "-DPAGES=FILE;..." -P cmake/examples.cmake
set(arrays "")
set(rows "")
foreach(page IN LISTS PAGES)
    get_filename_component(noun ${page} NAME_WE)
    file(READ ${page} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const unsigned char page_${noun}[] = {${bytes}};\n")
    string(APPEND rows "    {\"${noun}\", page_${noun}, sizeof page_${noun}},\n")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/examples.cmake from cli/help/man. */\n#include \"help/examples.h\"\n\n"
    "${arrays}\nconst struct page pages[] = {\n${rows}    {0, 0, 0},\n};\n")
