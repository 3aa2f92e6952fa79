# Bounds of form, over C files that clang-format has laid out (a function's body begins with a
# brace in the first column and ends with one): prints FILE:LINE: sentence for each violation.
BEGIN {
    function_max = 70
    file_max = 500
    test_file_max = 800
}

FNR == 1 {
    close_file()
    file = FILENAME
    begin = 0
}

{
    lines = FNR
}

/^\{/ {
    begin = FNR
}

/^\}/ && begin > 0 {
    if (FNR - begin + 1 > function_max)
        print FILENAME ":" begin ": function of " (FNR - begin + 1) " lines, at most " function_max
    begin = 0
}

END {
    close_file()
}

function close_file(    most) {
    if (file == "")
        return
    most = file ~ /^(tests|evidence)\// ? test_file_max : file_max
    if (lines > most && file !~ /^include\//)
        print file ": " lines " lines, at most " most
}
