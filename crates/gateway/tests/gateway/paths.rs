use crate::support::*;

/// Sends a path byte by byte as it is written here.
async fn ask(served: &Served, path: &[u8]) -> String {
    let mut bytes = b"GET ".to_vec();
    bytes.extend(path);
    bytes.extend(b" HTTP/1.1\r\nhost: shop.localhost\r\nconnection: close\r\n\r\n");
    served.raw(bytes).await
}

#[tokio::test]
async fn no_path_leads_out_of_the_tree_or_to_hidden_files() {
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
async fn well_known_files_and_names_in_any_letters_are_served() {
    let world = World::new();
    world.files(&[(".well-known/security.txt", "contact"), ("\u{fc}b er.txt", "umlaut"), ("100%.txt", "percent")]);
    for (path, expected) in
        [("/.well-known/security.txt", "contact"), ("/%C3%BCb%20er.txt", "umlaut"), ("/100%25.txt", "percent")]
    {
        assert_eq!(world.get(&format!("shop.localhost{path}")).await.text(), expected, "{path}");
    }
}
