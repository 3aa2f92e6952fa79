run set has tags red
run set remove tags red
run set scan tags
run set drop tags
run set add tags red
run set add tags red
run set has tags red
run set has tags blue
run -q set has tags red
run -q set has tags blue
run -q set add tags red
run set scan tags
run set remove tags blue
run set remove tags red
run set remove tags red
run set scan tags
run set drop tags
run set drop tags
for element in 1 3 4; do mcds -q set add numbers $element --list; done
run set remove numbers 3 --list
run set add numbers 5 --list
run set add numbers 1 --list
run set scan numbers --list
run set remove numbers 1 --list
run set scan numbers --list
run set scan numbers
run set add numbers 7 --bag
run set add words the --bag
run set add words the --bag
run set add words end --bag
echo '$ mcds set scan words --bag'
mcds set scan words --bag | sort
run set remove words the --bag
run set remove words end --bag
run set scan words --bag
run set add words the --bag --list
