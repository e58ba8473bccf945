//! Each caller gets the response to its own request, whatever a function, its threads or its
//! children do.

use std::process::Command;

use crate::stage::Stage;

const MANIFEST: &str = "
app: shop
functions:
  fork: { env: python, src: fork/, scale: { max: 1 } }
  syscall: { env: python, src: syscall/, scale: { max: 2 } }
  node: { env: node, src: node/, scale: { max: 1 } }
  c: { env: binary, src: c/, entrypoint: server, scale: { max: 1 } }
routes:
  - GET /fork: fork
  - GET /syscall: syscall
  - GET /node: node
  - GET /c: c
";

/// The child of Alice's call does not exit and returns from the handler like the worker.
const FORK: &str = r#"
import os, time
def main(request):
    if request.args.get("bg") and os.fork() == 0:
        time.sleep(0.1)
    return "balance of %s\n" % request.args["user"]
"#;

/// The same with a raw system call, so that Python does not notice the fork.
const SYSCALL: &str = r#"
import ctypes, time
libc = ctypes.CDLL(None)
def main(request):
    if request.args.get("bg") and libc.fork() == 0:
        time.sleep(0.1)
    return "balance of %s\n" % request.args["user"]
"#;

/// Node does not fork. Its child programs, cluster workers and threads try every descriptor they
/// may have inherited.
const NODE: &str = r#"
const { spawn } = require('node:child_process')
const { Worker } = require('node:worker_threads')
const forge = `
  const fs = require('node:fs')
  const body = Buffer.from('200\\0x-a\\0bforged')
  const frame = Buffer.alloc(20)
  frame.writeUInt32LE(4 + body.length, 0); frame[4] = 6; frame[5] = 1; frame.writeUInt32LE(body.length, 16)
  for (let fd = 3; fd < 64; fd++) try { fs.writeSync(fd, Buffer.concat([frame, body])) } catch {}`
module.exports = (context, callback) => {
  const { user, bg } = context.request.query
  const text = `balance of ${user}\n`
  if (bg) {
    spawn(process.execPath, ['-e', forge], { stdio: 'inherit' })
    const worker = new Worker('setTimeout(() => {}, 50)', { eval: true })
    worker.on('exit', () => callback(200, text))
    setTimeout(() => { callback(200, text); throw new Error('late and of ' + user) }, 50)
  }
  callback(200, text)
}
"#;

/// The C example, changed so that a call with `bg` forks and the child serves on.
fn forking_c() -> String {
    let source = include_str!("../../../../examples/binary-c/server.c");
    let answer = "if (!answer(connection, \"200 OK\"";
    assert_eq!(source.matches(answer).count(), 1, "the example has changed");
    source.replace(answer, &format!("if (strstr(target, \"bg=1\") && fork() == 0) usleep(100000);\n        {answer}"))
}

#[tokio::test]
async fn invariant_9_callers_never_get_the_response_of_another_call() {
    let stage = Stage::new(
        "shop",
        &[],
        &[
            ("milepost.yaml", MANIFEST),
            ("fork/main.py", FORK),
            ("syscall/main.py", SYSCALL),
            ("node/index.js", NODE),
            ("c.c", &forking_c()),
            ("c/note.txt", ""),
        ],
    );
    let folder = stage.world.env.work_dir();
    let compiled =
        Command::new("cc").args(["-pthread", "-static", "-o", "c/server", "c.c"]).current_dir(folder).status().unwrap();
    assert!(compiled.success());
    stage.deploy();
    for path in ["/fork", "/node", "/c", "/syscall"] {
        let alice = stage.get(&format!("{path}?user=alice&bg=1")).await;
        assert!(alice.status == 200 && alice.body.contains("alice"), "{path}: {alice:?}");
        for user in ["bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan"] {
            let answer = stage.get(&format!("{path}?user={user}")).await;
            // A raw fork cannot be kept from the connection. Its response is recognised and
            // dropped, and the call that is running then fails.
            if path == "/syscall" && answer.status == 502 {
                continue;
            }
            assert!(answer.status == 200 && answer.body.contains(user), "{path}, {user}: {answer:?}");
            // Leaves time for late responses between these calls.
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        }
    }
}
