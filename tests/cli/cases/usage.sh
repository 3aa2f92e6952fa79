run
run nonsense
run conter add x
run counter
run counter ad x
run counter explode x
run counter add
run counter add x 1 2
run counter add x one
run counter add x --strips 3
run counter get x --ttl 3s
run counter get x -z
run counter get x --json=yes
run --timeout
run --timeout 0 counter get x
run --timeout 2h counter get x
run -s
run -s nonsense counter get x
run -s nonsense: counter get x
run lock x
run lock x true
run lock x --
run lock x --info -- true
run lock x --info --break
run lock x -n -w 1s -- true
run lock x -t 1ms -- true
run lock x -E 256 -- true
run visitors get
run online beat x
run ls a b
run completion tcsh
run help nonsense
run help counter explode
run -s memory: -n 'bad ns' counter get x
MCDS_STORE=nonsense run counter get x
run version
run get x
run fetch x
run -v
run set add x -y
run set has -y
run counter add x -z
run set get x
run set add x --bag --list
run array change x
