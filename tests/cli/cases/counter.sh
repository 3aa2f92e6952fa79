run counter add page:home
run counter add page:home 41
run counter get page:home
run counter add page:home -50
run counter add page:home -- -1
run counter get page:home
run counter take page:home
run counter get page:home
run counter drop page:home
run counter get page:home
run counter drop page:home
run counter take page:home
run -q counter get page:home
run -q counter add page:home
run -q counter drop page:home
