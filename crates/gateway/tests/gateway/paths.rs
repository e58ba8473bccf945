use milepost_gateway::view::Mount;

use crate::support::*;

/// Sends a path byte by byte, without normalising it.
async fn ask(served: &Served, path: &[u8]) -> String {
    let mut bytes = b"GET ".to_vec();
    bytes.extend(path);
    bytes.extend(b" HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n");
    served.raw(bytes).await
}

#[tokio::test]
async fn no_path_escapes_the_tree_or_reaches_hidden_files() {
    let world = World::new();
    let secret = "SECRET";
    world.shop(
        vec![
            mount(
                "/",
                world.memory.tree(&[
                    ("index.html", "home"),
                    ("a/b.txt", "file"),
                    (".env", secret),
                    ("a/.git/config", secret),
                ]),
            ),
            mount(
                "/static",
                world.memory.tree(&[
                    ("c.txt", "other"),
                    (".hidden/index.html", secret),
                    ("..", secret),
                    ("a\\b", secret),
                ]),
            ),
        ],
        vec![],
    );
    let served = world.serve().await;
    for path in [
        &b"/.env"[..],
        b"/%2eenv",
        b"/a/.git/config",
        b"/a/%2egit/config",
        b"/static/..",
        b"/static/%2e%2e",
        b"/static/.%2e/index.html",
        b"/static/../index.html",
        b"/static/%2e%2e/index.html",
        b"/static/%2e%2e%2findex.html",
        b"/static/..%2findex.html",
        b"/static/..%5cindex.html",
        b"/static/..\\index.html",
        b"/static/a%5cb",
        b"/static/a\\b",
        b"/static/.hidden/",
        b"/static/%252e%252e/index.html",
        b"/a%2fb.txt",
        b"/a%2Fb.txt",
        b"//a/b.txt",
        b"/a//b.txt",
        b"/./a/b.txt",
        b"/a/./b.txt",
        b"/a/b.txt%00",
        b"/a/b.txt%00.html",
        b"/%00",
        b"/a/%c0%ae%c0%ae/b.txt",
        b"/%c0%af..%c0%afetc/passwd",
        b"/%ff",
        b"/a/\xc0\xaf",
        b"/etc/passwd",
        b"/../../../../etc/passwd",
        b"/a/b.txt/",
        b"/a/b.txt/../b.txt",
    ] {
        let answer = ask(&served, path).await;
        let shown = String::from_utf8_lossy(path);
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(["404", "400"].contains(&status), "{shown}: {answer}");
        assert!(!answer.contains(secret), "{shown}: {answer}");
    }
    for (path, expected) in
        [(&b"/a/b.txt"[..], "file"), (b"/a/%62.txt", "file"), (b"/static/c.txt", "other"), (b"/", "home")]
    {
        let answer = ask(&served, path).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(expected), "{answer}");
    }
    served.stopped().await;
}

#[tokio::test]
async fn serves_well_known_files_and_unicode_names() {
    let world = World::new();
    world.files(&[(".well-known/security.txt", "contact"), ("\u{fc}b er.txt", "umlaut"), ("100%.txt", "percent")]);
    for (path, expected) in
        [("/.well-known/security.txt", "contact"), ("/%C3%BCb%20er.txt", "umlaut"), ("/100%25.txt", "percent")]
    {
        assert_eq!(world.get(&format!("shop.localhost{path}")).await.text(), expected, "{path}");
    }
}

#[tokio::test]
async fn unsafe_paths_get_the_fallback_like_missing_files() {
    let world = World::new();
    let secret = "SECRET";
    let app = Mount {
        fallback: Some("app.html".into()),
        ..mount("/spa", world.memory.tree(&[("app.html", "the app"), (".env", secret), ("a/b", secret)]))
    };
    let site = Mount {
        error_page: Some("lost.html".into()),
        ..mount("/", world.memory.tree(&[("lost.html", "lost"), (".env", secret), ("x\\y", secret)]))
    };
    world.shop(vec![app, site], vec![route("GET", "/called/{x}", &public(Fake::Tell))]);
    let served = world.serve().await;
    for (path, status, expected) in [
        (&b"/spa/nope"[..], "200", "the app"),
        (b"/spa/a%2fb", "200", "the app"),
        (b"/spa//x", "200", "the app"),
        (b"/spa/.x", "200", "the app"),
        (b"/spa/.env", "200", "the app"),
        (b"/spa/%2eenv", "200", "the app"),
        (b"/spa/%ff", "200", "the app"),
        (b"/spa/..%2f.env", "200", "the app"),
        (b"/spa/../.env", "200", "the app"),
        (b"/sp%61/.x", "200", "the app"),
        (b"/spa%2fx", "404", "lost"),
        (b"/nope", "404", "lost"),
        (b"/.env", "404", "lost"),
        (b"/%2eenv", "404", "lost"),
        (b"//x", "404", "lost"),
        (b"//", "404", "lost"),
        (b"/x%5cy", "404", "lost"),
        (b"/a%00", "404", "lost"),
        (b"/../../etc/passwd", "404", "lost"),
    ] {
        let answer = ask(&served, path).await;
        let shown = String::from_utf8_lossy(path);
        assert_eq!(answer.split(' ').nth(1), Some(status), "{shown}: {answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{expected}")), "{shown}: {answer}");
        assert!(!answer.contains(secret), "{shown}: {answer}");
    }
    // Routes come first, and the fallback is for GET and HEAD only.
    assert!(ask(&served, b"/called/a%2fb").await.contains("x=a/b"));
    let posted = served.raw("POST /spa/.x HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n").await;
    assert!(posted.starts_with("HTTP/1.1 404") && !posted.contains("the app"), "{posted}");
    served.stopped().await;
}
