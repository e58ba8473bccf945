#!/usr/bin/env bash
# Makes the data that `old_data.rs` opens: rows of every table and files of every kind, written by
# an earlier milepost, and what its API answered about them.
#
#   make.sh MILEPOST OUT sqlite
#   make.sh MILEPOST OUT postgres URL        # URL of an empty database; needs pg_dump
#
# OUT gets data.tar.gz (the data folder), answers.json.gz (path of the API -> its answer), now.txt
# (when that was) and, with PostgreSQL, dump.sql. Needs curl, jq, openssl and python3. The commands are those of the milepost
# that wrote the data: commit 495a498 (schema 10), without `confined` in catalog/src/ops/install.rs, which that commit
# adds in part and so does not compile.
set -euo pipefail

milepost=$1 out=$2 engine=$3 url=${4:-}
api=127.0.0.1:${API_PORT:-7611} gateway=127.0.0.1:${GATEWAY_PORT:-8611}
home=$(mktemp -d)
export HOME=$home MILEPOST_DATA=$home/data TERM=dumb
mkdir -p "$home/work" "$out"
cd "$home/work"

serve() {
  local args=(serve --api "$api" --gateway "$gateway" --no-sandbox)
  [ -z "$url" ] || args+=(--database "$url")
  "$milepost" "${args[@]}" >>"$home/server.log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    curl -fs "http://$api/readyz" >/dev/null && return
    sleep 0.1
  done
  cat "$home/server.log"
  exit 1
}
trap 'kill "$server" 2>/dev/null || true; rm -rf "$home"' EXIT

mp() { echo "+ milepost $*" >&2; "$milepost" --yes "$@"; }
token() { cat "$MILEPOST_DATA/admin.token"; }
call() { curl -fsS -H "authorization: bearer $(token)" "$@"; }
# Waits until an execution has ended.
ended() {
  for _ in $(seq 600); do
    case $(mp execution get "$1" -o json 2>/dev/null | jq -r .status) in
      queued | running) sleep 0.1 ;;
      *) return ;;
    esac
  done
  echo "execution $1 does not end" >&2
  exit 1
}

serve

# A folder with every kind of unit, a build and a deployment.
mkdir -p shop/hello shop/site shop/tool
cat >shop/milepost.yaml <<'YAML'
app: shop
version: 1.0.0
environments:
  fast: { runtime: python, vars: { MODE: fast } }
packages:
  tool: { env: fast, src: tool, build: 'mkdir -p "$DEPLOY_PKG" && cp tool.py "$DEPLOY_PKG/"' }
functions:
  hello: { env: fast, src: hello, secrets: [KEY], permission: public }
  tool: { env: fast, package: tool, entrypoint: tool.main }
secrets: [KEY]
config: { greeting: hi, mail: { from: shop@example.com } }
static:
  - { src: site, path: / }
routes:
  - GET /hello: hello
  - POST /orders/{id}: { function: hello, alias: stable }
timers:
  nightly: { cron: "0 3 1 1 *", zone: Europe/Berlin, function: hello }
YAML
hello() {
  printf 'import os, time\ndef main(wait=0, fail=False, **rest):\n    print("called")\n    time.sleep(float(wait))\n    if fail:\n        raise ValueError("as asked")\n    return {"says": "%s", "key": os.environ.get("KEY")}\n' "$1" >shop/hello/hello.py
}
hello one
printf 'def main(**rest):\n    return "built"\n' >shop/tool/tool.py
echo '<h1>shop</h1>' >shop/site/index.html
head -c 70000 /dev/zero | tr '\0' 'x' >shop/site/large.txt

mp app create shop --plan standard
export MILEPOST_APP=shop
printf s3cret-value | mp secret set KEY
mp function create hello --env python --code shop/hello --label v1
mp function alias create --name hello --alias stable --version 1
mp deploy shop --overwrite
hello two && mp deploy shop -m 'the second' --overwrite
mp function alias update --name hello --alias stable --version latest
mp function alias rollback --name hello --alias stable
hello three && mp deploy shop --overwrite
first=$(mp release list -o json | jq -r '.[-1].id')
mp release tag "$(mp release list -o json | jq -r '.[0].id')" newest
mp release live "$(mp release list -o json | jq -r '.[1].id')" -m 'the third is wrong'
mp rollback
mp release expire "$first"
mp function create gone --env python --code shop/hello --tag v2.0.0
mp function delete gone
mp function version update --name hello --code shop/hello --label v9 --tag v2.0.0 --var A=1
mp function version update --name hello --code shop/hello --var A=2
mp route create --url /first --function hello --version 1
mp release live latest --follow 2>/dev/null || mp release live --follow
# A release that does not load: neither latest nor live.
printf 'import nothing_of_that_name\n' >broken.py
mp function create broken --env python --code broken.py || true
mp function delete broken || true

# Executions: ended well and badly, cancelled, and one whose server died under it.
mp execution create hello --input '{"n": 1}'
mp execution create hello --input '{"fail": true}' || true
queued=$(mp execution create hello --async --input '{"wait": 30}' -o json | jq -r .id)
mp execution cancel "$queued"
died=$(mp execution create hello --async --input '{"wait": 3}' -o json | jq -r .id)
for _ in $(seq 100); do
  [ "$(mp execution get "$died" -o json | jq -r .status)" = running ] && break
  sleep 0.1
done
sleep 0.5
kill -9 "$server"
wait "$server" || true
serve
ended "$queued"
ended "$died"

mp job create --name yearly --function hello --cron '0 7 1 1 *' --zone Europe/Berlin --input '{"kind": "yearly"}'
mp job create --name twice --function hello --version 1 --cron '@every 1h' --count 2
mp job pause twice
mp job create --name over --function hello --cron '@yearly'
mp job cancel over
mp job create --name once --function hello --count 1 --first-at now
for _ in $(seq 100); do
  [ "$(mp job get once -o json 2>/dev/null | jq -r .state)" = done ] && break
  sleep 0.1
done
mp webhook create --function hello --alias stable --signed --description 'signed'
open=$(mp webhook create --function hello --description 'open' -o json | jq -r '.id // .webhook.id')
ended "$(call -X POST -H 'content-type: application/json' -d '{"order": 7}' "http://$api/api/v1/webhooks/$open/invoke" | jq -r .execution)"

# Published, installed under another name, overridden, upgraded.
mkdir -p lib
lib() {
  printf 'app: lib\nversion: %s\nfunctions: { hello: { env: python, src: hello, secrets: [KEY], permission: public } }\nsecrets: [KEY]\nconfig: { greeting: hi }\nroutes: [GET /hello: hello]\n' "$1" >lib/milepost.yaml
  mkdir -p lib/hello && cp shop/hello/hello.py lib/hello/
}
mp app create lib --plan standard
printf lib-value | mp --app lib secret set KEY
hello four && lib 1.0.0
mp --app lib deploy lib
mp channel key >/dev/null
mp --app lib publish lib
mp install --channel "http://$api/channels/lib/stable" --app lib2 --secret KEY=other --set greeting=hello \
  --policy patch=manual,minor=manual,major=manual
hello five && lib 1.1.0
mp --app lib deploy lib
mp --app lib publish lib
mp upgrade lib2 --now
mp install hold lib2
hello four && mp deploy shop --overwrite

# What the OpenStack interface makes.
os() { curl -fsS -H "x-auth-token: $(token)" "$@"; }
runtime=$(os -H 'content-type: application/json' -d '{"name": "py", "image": "openstackqinling/python3-runtime"}' "http://$api/v1/runtimes" | jq -r .id)
printf 'def main(**rest):\n    return "v1"\n' >main.py
python3 -c 'import zipfile; zipfile.ZipFile("main.zip", "w").write("main.py")'
function=$(os -F name=qin -F runtime_id="$runtime" -F entry=main.main -F 'code={"source": "package"}' -F package=@main.zip "http://$api/v1/functions" | jq -r .id)
os -H 'content-type: application/json' -d '{"description": "first"}' "http://$api/v1/functions/$function/versions" >/dev/null
os -H 'content-type: application/json' -d "{\"name\": \"prod\", \"function_id\": \"$function\", \"function_version\": 1}" "http://$api/v1/aliases" >/dev/null
os -H 'content-type: application/json' -d "{\"function_id\": \"$function\", \"sync\": true}" "http://$api/v1/executions" >/dev/null

# Versions that nothing needs any more: the sweep deletes them.
mp --app default function create short --env python --code shop/hello
mp --app default function delete short
for release in $(mp --app default release list -o json | jq -r '.[].id'); do
  mp --app default release expire "$release" || true
done
mp storage sweep

# An app of its own that was deleted, and tokens of each role.
mp app create gone
mp app delete gone
for role in reader invoker operator deployer admin; do mp token create "the-$role" --role "$role" >/dev/null; done
mp status >/dev/null

# What the API answers about all of it.
paths=(/api/v1/apps /api/v1/tokens /api/v1/installs /channels)
for app in shop lib lib2 default; do
  paths+=("/api/v1/apps/$app" "/api/v1/apps/$app/events?limit=500")
  for list in units versions releases tags groups jobs webhooks timers executions builds live live/history \
    latest/history install; do
    paths+=("/api/v1/apps/$app/$list")
  done
  while IFS=$'\t' read -r kind name; do
    unit="/api/v1/apps/$app/units/$kind/$name"
    paths+=("$unit" "$unit/versions")
    [ "$kind" != function ] || paths+=("/api/v1/apps/$app/functions/$name/aliases")
  done < <(call "http://$api/api/v1/apps/$app/units" |
    jq -r '.. | objects | select(has("kind") and has("name")) | [.kind, (.name | @uri)] | @tsv' | sort -u)
  for version in $(call "http://$api/api/v1/apps/$app/versions" | jq -r '.items[].id'); do
    paths+=("/api/v1/apps/$app/versions/$version")
  done
  for execution in $(call "http://$api/api/v1/apps/$app/executions" | jq -r '.items[].id'); do
    paths+=("/api/v1/apps/$app/executions/$execution" "/api/v1/apps/$app/executions/$execution/log")
  done
done
paths+=(/api/v1/apps/shop/functions/hello/aliases/stable/history /api/v1/apps/shop/tags/newest/history)
for list in runtimes functions aliases executions jobs webhooks; do paths+=("/v1/$list"); done
for path in "${paths[@]}"; do
  if body=$(call "http://$api$path" 2>/dev/null) && jq -es "length == 1" >/dev/null 2>&1 <<<"$body"; then
    jq -n --arg path "$path" --argjson body "$body" '{($path): $body}'
  else
    echo "not recorded: $path" >&2
  fi
done | jq -csS add | gzip -9n >"$out/answers.json.gz"

date -u +%Y-%m-%dT%H:%M:%SZ >"$out/now.txt"
kill "$server"
wait "$server" || true
if [ "$engine" = sqlite ]; then
  python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")' \
    "$MILEPOST_DATA/catalog.db"
fi
rm -rf "$MILEPOST_DATA"/{cache,run,packages,server.json,catalog.db-*}
ls -la "$MILEPOST_DATA" >&2
tar -C "$MILEPOST_DATA" --sort=name --owner=0 --group=0 --numeric-owner -cf - . | gzip -9n >"$out/data.tar.gz"
if [ "$engine" = postgres ]; then
  # `\restrict` is an order to psql, not SQL.
  pg_dump --no-owner --no-privileges --inserts --rows-per-insert=100 "$url" | grep -v '^\\' >"$out/dump.sql"
fi
ls -l "$out" >&2
