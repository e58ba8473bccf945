# Ends the PostgreSQL in FOLDER and removes FOLDER once LEASE has not been locked for GRACE seconds.
# Arguments: LEASE FOLDER GRACE
lease=$1 folder=$2 grace=$3
trap '' HUP INT

end() {
    pid=$(head -n 1 "$folder/data/postmaster.pid")
    # By now the process id may have been reused.
    if [ "$(readlink "/proc/$pid/cwd")" = "$folder/data" ]; then
        kill -QUIT "$pid"
        tries=0
        while kill -0 "$pid" && [ "$tries" -lt 100 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
    fi
    case $folder in */milepost-pg-*) rm -rf -- "$folder" ;; esac
}

# Opened once: `cargo clean` may remove the file, but not the locks that are held on it.
exec 9>>"$lease"
while [ -d "$folder" ]; do
    flock --exclusive 9
    flock --unlock 9
    sleep "$grace"
    # The lock is held until the server is gone, so that no test starts to use it while it is
    # ending.
    if flock --exclusive --nonblock 9; then
        end
    fi
done
