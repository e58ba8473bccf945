//! Limits on a build's disk use, and the cache that it inherits.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_model::spec::Runtime as Kind;
use milepost_runtime::DiskLimit;

use crate::ground::{Ground, order};

#[tokio::test]
async fn stops_a_build_that_writes_too_much_and_names_the_limit() {
    let ground = Ground::new().await;
    let command = "for n in 1 2 3 4 5; do head -c 20000000 /dev/zero > $n; done; sleep 60";
    for (of_plan, advice) in [(false, "`--build-disk`"), (true, "a larger plan")] {
        let mut order = order(Kind::Binary, command);
        order.disk = DiskLimit { bytes: 32 << 20, of_plan };
        let reason = ground.build_order(&[], order).await.reason();
        assert!(reason.starts_with("the build was stopped because it wrote more than 32 MiB; "), "{reason}");
        assert!(reason.ends_with(advice), "{reason}");
    }
}

#[tokio::test]
async fn refuses_to_allocate_disk_space_without_writing() {
    let ground = Ground::new().await;
    let command = "python3 -c \"import ctypes, errno, fcntl, os, struct, termios
libc = ctypes.CDLL(None, use_errno=True)
file = os.open('big', os.O_CREAT | os.O_RDWR)
print(libc.fallocate(file, 0, ctypes.c_long(0), ctypes.c_long(12 << 30)), ctypes.get_errno() == errno.EOPNOTSUPP)
os.posix_fallocate(file, 0, 4096); print(os.stat('big').st_size)
space = ctypes.create_string_buffer(struct.pack('hhqqiI16x', 0, 0, 0, 12 << 30, 0, 0))
for request in (0x4030580a, 0x40305824, 0x40305828, 0x4030582a, 0x40305839, 0x401c5820):
    print(libc.ioctl(file, ctypes.c_ulong(request), space), ctypes.get_errno() == errno.EOPNOTSUPP)
print(len(fcntl.ioctl(file, termios.FIONREAD, bytes(4))))
print(os.stat('big').st_blocks * 512 < 1 << 20)\" && touch $DEPLOY_PKG";
    let built = ground.build_order(&[], order(Kind::Python, command)).await;
    let refused = ["-1 True"; 6];
    assert_eq!(built.lines(), [&["-1 True", "4096"], &refused[..], &["4", "True"]].concat());
}

/// A wheel with one empty module.
fn wheel() -> Vec<u8> {
    let make = "import sys, zipfile, io
out = io.BytesIO()
with zipfile.ZipFile(out, 'w') as wheel:
    wheel.writestr('tiny.py', '')
    wheel.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
    wheel.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('tiny-1.0.dist-info/RECORD', '')
sys.stdout.buffer.write(out.getvalue())";
    python(make)
}

fn python(code: &str) -> Vec<u8> {
    let made = std::process::Command::new("python3").args(["-c", code]).output().expect("run python3");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    made.stdout
}

/// A package index that counts the downloads of its only file.
fn index(downloads: Arc<AtomicUsize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let wheel = wheel();
    // pip does not cache a response without a date.
    let date = python("import email.utils; print(email.utils.formatdate(usegmt=True), end='')");
    let date = String::from_utf8(date).expect("a date");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
                head.push(byte[0]);
            }
            let (kind, body) = if head.starts_with(b"GET /simple/") {
                ("text/html", b"<a href=\"/tiny-1.0-py3-none-any.whl\">tiny-1.0-py3-none-any.whl</a>".to_vec())
            } else {
                downloads.fetch_add(1, Ordering::Relaxed);
                ("application/octet-stream", wheel.clone())
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\ndate: {date}\r\ncache-control: max-age=86400\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    port
}

#[tokio::test]
async fn the_cache_is_shared_by_builds_of_one_app_only() {
    let downloads = Arc::new(AtomicUsize::new(0));
    let port = index(downloads.clone());
    let ground = Ground::with(|settings| {
        let variable = |name: &str, value: String| (name.to_owned(), value);
        settings.build_environment = vec![
            variable("PIP_INDEX_URL", format!("http://127.0.0.1:{port}/simple/")),
            variable("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
            // pip caches responses without TLS only from trusted hosts.
            variable("PIP_TRUSTED_HOST", format!("127.0.0.1:{port}")),
        ];
    })
    .await;
    let mut counted = Vec::new();
    for app in ["shop", "shop", "other"] {
        let mut order =
            order(Kind::Python, "pip install -q --target $DEPLOY_PKG tiny && ls $DEPLOY_PKG/tiny.py >/dev/null");
        order.cache = Some(ground.folder.path().join("caches").join(app));
        ground.build_order(&[], order).await.lines();
        counted.push(downloads.load(Ordering::Relaxed));
    }
    assert_eq!(counted, [1, 1, 2]);
}
