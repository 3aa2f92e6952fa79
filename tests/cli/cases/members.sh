run visitors hit site ann --exact
run visitors hit site ann --exact
run visitors hit site bob --exact
run visitors get site --exact
run visitors get site
run visitors hit site --exact
run visitors hit site ann --estimated
run visitors get site --estimated
run visitors drop site --exact
run visitors get site --exact
run visitors hit site ann --estimated
run visitors get site --estimated
run online beat site ann --exact --width 1d
run online beat site ann --exact --width 1d
run online beat site bob --exact --width 1d
run online get site --exact --width 1d
run online get site --width 1d
run online beat chat ann --estimated --width 1d
run online get chat --estimated --width 1d
run online drop site --exact --width 1d
run online get site --exact --width 1d
echo "$ mcds ls"
mcds ls | sort
echo "-> 0"
