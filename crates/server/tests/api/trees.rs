//! Trees that our client would never create. They are rejected before a version refers to them.

use milepost_model::pack::BlobKind;
use milepost_model::{Digest, PlanName};
use reqwest::Method;
use serde_json::json;

use crate::bodies::{directories_of, file, function, link, pack, static_item, tree};
use crate::server::{TestServer, problem, refused};

async fn store_links(server: &TestServer, links: &[(&str, &str)]) -> Digest {
    let leaves: Vec<_> = links.iter().map(|(path, target)| (*path, link(target))).collect();
    let (root, pack) = directories_of(&tree(&leaves));
    assert_eq!(server.upload_to("default", pack).await.status(), 200);
    root
}

#[tokio::test]
async fn rejects_links_that_escape_through_each_other() {
    let server = TestServer::start().await;
    let root = store_links(&server, &[("d/up", ".."), ("out", "d/up/..")]).await;
    for change in [static_item("site", root), function("hello", root)] {
        let request = server.ask(Method::POST, "/apps/default/changes").json(&change);
        let problem = refused(request, 400, "invalid_upload").await;
        assert!(problem.detail.contains("`out`") && problem.detail.contains("`d/up/..`"), "{problem:?}");
        let mut plan = change.clone();
        plan["dryRun"] = json!(true);
        refused(server.ask(Method::POST, "/apps/default/changes").json(&plan), 400, "invalid_upload").await;
    }
    assert_eq!(server.get("/apps/default/versions").await["items"], json!([]), "nothing was changed");
    let inside = store_links(&server, &[("d/up", ".."), ("in", "d/up/d")]).await;
    server.change(&static_item("site", inside)).await;
}

#[tokio::test]
async fn rejects_a_subdirectory_that_links_to_its_parent() {
    let server = TestServer::start().await;
    let whole = tree(&[("inner/up", link("../x"))]).encode();
    let (inner, _) = &whole.directories[0];
    let blobs: Vec<_> = whole.directories.iter().map(|(_, bytes)| (BlobKind::Directory, bytes.as_slice())).collect();
    assert_eq!(server.upload_to("default", pack(&blobs)).await.status(), 200);
    server.change(&static_item("site", whole.root)).await;
    let request = server.ask(Method::POST, "/apps/default/changes").json(&static_item("site", *inner));
    refused(request, 400, "invalid_upload").await;
}

#[tokio::test]
async fn rejects_a_file_as_a_tree() {
    let server = TestServer::start().await;
    server.upload_to("default", pack(&[(BlobKind::File, b"just text")])).await;
    let digest = Digest::of(b"just text");
    let request = server.ask(Method::POST, "/apps/default/changes").json(&static_item("site", digest));
    let problem = refused(request, 400, "invalid_upload").await;
    assert!(problem.detail.contains("a file, not a tree"), "{problem:?}");
}

#[tokio::test]
async fn rejects_directories_with_wrong_file_sizes() {
    let server = TestServer::start().await;
    server.upload_to("default", pack(&[(BlobKind::File, b"hello")])).await;
    let sized = |size: u64| json!({ "file": { "digest": Digest::of(b"hello"), "size": size } });
    let inner = json!({ "entries": { "main.py": sized(99) }, "format": 1 }).to_string();
    let inner_digest = Digest::of(inner.as_bytes());
    let outer = json!({
        "entries": { "deep": { "directory": { "digest": inner_digest } }, "true.py": sized(5) },
        "format": 1,
    });
    let outer = outer.to_string();
    let blobs = [(BlobKind::Directory, inner.as_bytes()), (BlobKind::Directory, outer.as_bytes())];
    let stored = server.upload_to("default", pack(&blobs)).await;
    assert_eq!(stored.status(), 200, "{}", stored.text().await.unwrap());
    for root in [inner_digest, Digest::of(outer.as_bytes())] {
        for change in [static_item("site", root), function("hello", root)] {
            let request = server.ask(Method::POST, "/apps/default/changes").json(&change);
            let problem = refused(request, 400, "invalid_upload").await;
            assert!(problem.detail.contains("main.py` has 99 bytes"), "{problem:?}");
        }
    }
    assert_eq!(server.get("/apps/default/versions").await["items"], json!([]), "nothing was changed");
}

/// A static item of this tree with additional fields.
fn item(root: Digest, fields: &[(&str, &str)]) -> serde_json::Value {
    let mut change = static_item("/x", root);
    for (field, value) in fields {
        change["puts"][0]["spec"][*field] = json!(value);
    }
    change
}

#[tokio::test]
async fn rejects_static_items_that_name_missing_files() {
    let server = TestServer::start().await;
    let root = server.store(&[("app.html", "<h1>"), ("errors/404.html", "gone"), ("docs/start.html", "hi")]).await;
    for (fields, says, hint) in [
        (&[("fallback", "ap.html")], "`ap.html`", "did you mean `app.html`?"),
        (&[("errorPage", "errors/500.svg")], "`error`", "add the file"),
        (&[("fallback", "errors")], "`errors`", ""),
        (&[("index", "home.html")], "`index`", ""),
    ] {
        let request = server.ask(Method::POST, "/apps/default/changes").json(&item(root, fields));
        let problem = refused(request, 400, "invalid_spec").await;
        assert!(problem.detail.contains(says) && problem.hint.as_ref().unwrap().contains(hint), "{problem:?}");
    }
    assert_eq!(server.get("/apps/default/versions").await["items"], json!([]), "nothing was changed");
    let fine: [&[(&str, &str)]; 3] =
        [&[], &[("fallback", "app.html")], &[("errorPage", "errors/404.html"), ("index", "start.html")]];
    for fields in fine {
        server.change(&item(root, fields)).await;
    }
    let gone = item(Digest::of(b"never uploaded"), &[("fallback", "app.html")]);
    refused(server.ask(Method::POST, "/apps/default/changes").json(&gone), 409, "missing_blobs").await;
}

/// Twenty directories that each contain the next one a hundred times: a few kilobytes that would
/// expand to more than any disk holds.
#[tokio::test]
async fn rejects_trees_that_expand_too_far() {
    let server = TestServer::start().await;
    let mut inner = directories_of(&tree(&[("x", link("y"))])).0;
    assert_eq!(server.upload_to("default", directories_of(&tree(&[("x", link("y"))])).1).await.status(), 200);
    for _ in 0..20 {
        let entries: serde_json::Map<_, _> =
            (0..100).map(|at| (format!("d{at:02}"), json!({ "directory": { "digest": inner } }))).collect();
        let bytes = json!({ "entries": entries, "format": 1 }).to_string();
        let response = server.upload_to("default", pack(&[(BlobKind::Directory, bytes.as_bytes())])).await;
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
        inner = Digest::of(bytes.as_bytes());
    }
    let request = server.ask(Method::POST, "/apps/default/changes").json(&static_item("bomb", inner));
    let refused = refused(request, 400, "invalid_upload").await;
    assert!(refused.detail.contains("more than 250000"), "{refused:?}");
    let listing = server.ask(Method::GET, &format!("/apps/default/trees/{inner}")).send().await.unwrap();
    assert_eq!(problem(listing).await.code, "invalid_upload");
}

#[tokio::test]
async fn zip_download_has_a_safe_file_name() {
    let server = TestServer::start().await;
    server.client.app_set_plan("default", PlanName::Unlimited).await.unwrap();
    let leaves = [("bin/run", file("#!/bin/sh")), ("link", link("bin/run")), ("ä/ö.txt", file("umlauts"))];
    let with_links = tree(&leaves);
    server.upload_to("default", pack(&[(BlobKind::File, b"#!/bin/sh"), (BlobKind::File, b"umlauts")])).await;
    let (root, directories) = directories_of(&with_links);
    assert_eq!(server.upload_to("default", directories).await.status(), 200);
    server.change(&static_item("/a \"quoted\"; ünïcode", root)).await;
    let path = "/apps/default/units/static/%2Fa%20%22quoted%22%3B%20%C3%BCn%C3%AFcode/versions/latest/download";
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let response = server.ask(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let disposition = response.headers()["content-disposition"].to_str().unwrap().to_owned();
        assert_eq!(disposition, "attachment; filename=\"-a--quoted----n-code.zip\"");
        let length = response.content_length().unwrap();
        let bytes = response.bytes().await.unwrap();
        assert_eq!(bytes.len() as u64, length);
        bodies.push(bytes);
    }
    assert_eq!(bodies[0], bodies[1], "the same tree gives the same bytes");
    let archive = zip::ZipArchive::new(std::io::Cursor::new(bodies[0].clone())).unwrap();
    let mut names: Vec<_> = archive.file_names().map(Result::unwrap).collect();
    names.sort_unstable();
    assert_eq!(names, ["bin/run", "link", "ä/ö.txt"]);
}
