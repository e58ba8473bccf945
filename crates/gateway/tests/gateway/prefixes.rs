//! Routes that pass a different path to the function.

use milepost_gateway::{Route, RouteRewrite};

use crate::support::*;

fn passing(path: &str, strip: bool, fission: bool) -> Route<milepost_gateway::view::Target<Fake>> {
    Route { rewrite: RouteRewrite { strip, fission }, ..route("", path, &public(Fake::Tell)) }
}

#[tokio::test]
async fn stripped_prefix_moves_from_the_path_to_a_header() {
    let world = World::new();
    world.shop(vec![], vec![passing("/api/*", true, false), passing("/whole/*", false, false)]);
    let forged = [("x-forwarded-prefix", "/forged"), ("x-fission-params-id", "forged")];
    let got = world.get_with("shop.localhost/api/login?next=%2F", &forged).await;
    assert!(got.text().starts_with("GET /login?next=%2F route=/api/\n"), "{}", got.text());
    assert!(got.text().contains("\nx-forwarded-prefix: /api\n"), "{}", got.text());
    assert!(!got.text().contains("forged"), "{}", got.text());
    let whole = world.get_with("shop.localhost/whole/login", &forged).await;
    assert!(whole.text().starts_with("GET /whole/login route"), "{}", whole.text());
    assert!(!whole.text().contains("prefix") && !whole.text().contains("forged"), "{}", whole.text());
    // The remaining path never looks like a host.
    let slashes = world.get("shop.localhost/api//example.org/x").await;
    assert!(slashes.text().starts_with("GET /example.org/x route"), "{}", slashes.text());
}

#[tokio::test]
async fn fission_routes_receive_the_root_path_and_variables_as_headers() {
    let world = World::new();
    world.shop(vec![], vec![passing("/users/{id}", false, true), passing("/files/*", true, true)]);
    let forged = [("x-fission-params-id", "forged"), ("x-fission-params-other", "forged")];
    let got = world.get_with("shop.localhost/users/7?x=1", &forged).await;
    assert!(got.text().starts_with("GET /?x=1 route=/users/{id} id=7\n"), "{}", got.text());
    for line in [
        "x-fission-params-id: 7",
        "x-fission-full-url: /users/7?x=1",
        "x-fission-function-name: f",
        "x-fission-function-namespace: shop",
        "x-fission-function-resourceversion: 7",
    ] {
        assert!(got.text().contains(&format!("\n{line}\n")), "{line}: {}", got.text());
    }
    assert!(!got.text().contains("forged"), "{}", got.text());
    let file = world.get("shop.localhost/files/a/b").await;
    assert!(file.text().starts_with("GET /a/b route"), "{}", file.text());
    assert!(file.text().contains("\nx-fission-full-url: /files/a/b\n"), "{}", file.text());
}
