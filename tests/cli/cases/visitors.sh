run visitors hit site alice --period 300d
run visitors hit site bob --period 300d
run visitors hit site alice --period 300d
run visitors hit site --period 300d
run visitors get site --period 300d
run visitors get site --closed --period 300d
run visitors estimate site --period 300d
run visitors hit year alice --period 366d
run visitors get year --period 366d
run visitors drop year --period 366d
run visitors get year --period 366d
run visitors get site --period 300d
run visitors get nowhere --period 300d
run visitors hit forever alice --period 0
run visitors get forever --period 0
run visitors hit site alice --period 5ms
run visitors hit site '' --period 300d
