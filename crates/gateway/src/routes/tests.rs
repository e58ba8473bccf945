use milepost_model::spec::RouteSpec;
use milepost_model::unit_put::{RoutePut, TargetPut};
use milepost_model::{Selector, UnitName};
use proptest::prelude::*;

use super::*;

fn route(methods: &str, path: &str, prefix: bool, host: &str, target: &'static str) -> Route<&'static str> {
    let methods = methods.split(',').filter(|method| !method.is_empty()).map(str::to_owned).collect();
    Route { methods, path: path.into(), prefix, rewrite: RouteRewrite::default(), host: host.into(), target }
}

fn table() -> RouteTable<&'static str> {
    RouteTable::new(vec![
        route("GET", "/", false, "", "home"),
        route("GET,POST", "/orders", false, "", "orders"),
        route("GET", "/orders/new", false, "", "new"),
        route("GET", "/orders/{id}", false, "", "order"),
        route("DELETE", "/orders/{id:[0-9]+}", false, "", "by-number"),
        route("", "/orders", true, "", "all-orders"),
        route("", "/orders/{id}/lines", true, "", "lines"),
        route("GET", "/a", false, "", "a"),
        route("GET", "/a/", false, "", "a-slash"),
        route("GET", "/b/", false, "", "b"),
        route("GET", "/files/{rest:.*}", false, "", "files"),
        route("GET", "/v{major:[0-9]+}.{minor}/x", false, "", "version"),
        route("GET", r"/anchored/{n:^\d+$}/{price:\d\$}", false, "", "anchored"),
        route("GET", r"/assets/{file:.*\.js$|.*\.css$}", false, "", "assets"),
        route("GET", "/only", false, "Shop.Example.com", "at-host"),
        route("GET", "/only", false, "", "anywhere"),
        route("POST", "/only", false, "", "posted"),
        route("HEAD", "/headed", false, "", "head"),
        route("GET", "/headed", false, "", "get"),
        route("GET", "/caf\u{e9}/{what}", false, "", "cafe"),
    ])
}

fn ask(table: &RouteTable<&'static str>, host: &str, method: &str, path: &str) -> String {
    let method = method.parse::<Method>().expect("a method");
    match table.find(host, &method, path) {
        Lookup::Found { target, params, .. } => {
            let params: Vec<_> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if params.is_empty() { (*target).to_owned() } else { format!("{target} {}", params.join(" ")) }
        }
        Lookup::OtherMethods(methods) => format!("405 {}", methods.into_iter().collect::<Vec<_>>().join(",")),
        Lookup::Nothing => "404".to_owned(),
    }
}

#[test]
fn most_specific_route_for_the_method_wins() {
    let table = table();
    for (method, path, expected) in [
        ("GET", "/", "home"),
        ("HEAD", "/", "home"),
        ("POST", "/", "405 GET,HEAD"),
        ("GET", "//", "404"),
        ("GET", "/orders", "orders"),
        ("PUT", "/orders", "all-orders"),
        ("GET", "/orders/", "orders"),
        ("GET", "/orders/new", "new"),
        ("GET", "/orders/n%65w", "new"),
        ("GET", "/orders/7", "order id=7"),
        ("GET", "/orders/a%2Fb%20c", "order id=a/b c"),
        ("GET", "/orders/%FF", "order id=\u{fffd}"),
        ("DELETE", "/orders/7", "by-number id=7"),
        ("DELETE", "/orders/x", "all-orders"),
        ("PATCH", "/orders/7/lines/3", "lines id=7"),
        ("GET", "/orders/7/lines", "lines id=7"),
        ("GET", "/orders/7/linesx", "all-orders"),
        ("GET", "/ordersx", "404"),
        ("GET", "/a", "a"),
        ("GET", "/a/", "a-slash"),
        ("GET", "/b", "b"),
        ("GET", "/b/", "b"),
        ("GET", "/b//", "404"),
        ("GET", "/files/", "files rest="),
        ("GET", "/files/x/y.txt", "files rest=x/y.txt"),
        ("GET", "/v12.3/x", "version major=12 minor=3"),
        ("GET", "/v12.3/x/", "version major=12 minor=3"),
        ("GET", "/v1x.3/x", "404"),
        ("GET", "/anchored/12/3$", "anchored n=12 price=3$"),
        ("GET", "/anchored/12/3", "404"),
        ("GET", "/anchored/x12/3$", "404"),
        ("GET", "/assets/a/b.js", "assets file=a/b.js"),
        ("GET", "/assets/b.css", "assets file=b.css"),
        ("GET", "/assets/b.jsx", "404"),
        ("HEAD", "/headed", "head"),
        ("GET", "/headed", "get"),
        ("GET", "/caf%C3%A9/%C3%BC", "cafe what=\u{fc}"),
        ("GET", "/only", "anywhere"),
        ("OPTIONS", "/only", "405 GET,HEAD,POST"),
        ("OPTIONS", "/orders", "all-orders"),
    ] {
        assert_eq!(ask(&table, "other.localhost", method, path), expected, "{method} {path}");
    }
}

#[test]
fn routes_for_the_host_come_first() {
    let table = table();
    assert_eq!(ask(&table, "shop.example.com", "GET", "/only"), "at-host");
    assert_eq!(ask(&table, "shop.example.com", "POST", "/only"), "posted");
    assert_eq!(ask(&table, "shop.example.com", "PUT", "/only"), "405 GET,HEAD,POST");
}

#[test]
fn skips_and_reports_invalid_routes() {
    let (table, errors) = RouteTable::with_errors(vec![
        route("GET", "/{x:[}", false, "", "broken"),
        route("GET", "/fine", false, "", "fine"),
    ]);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("/{x:[}"), "{}", errors[0]);
    assert_eq!(ask(&table, "", "GET", "/fine"), "fine");
}

/// A naive reference implementation: compares every route, then picks the best.
mod naive {
    use super::*;

    fn split(path: &str) -> (Vec<&str>, bool) {
        let body = &path[1..];
        match body.strip_suffix('/') {
            _ if body.is_empty() => (Vec::new(), false),
            Some(body) => (body.split('/').collect(), true),
            None => (body.split('/').collect(), false),
        }
    }

    /// The kind of each segment: 0 for a literal, 1 for a variable.
    fn kinds(route: &Route<usize>) -> Vec<u8> {
        split(&route.path).0.iter().map(|segment| u8::from(segment.starts_with('{'))).collect()
    }

    fn fits(route: &Route<usize>, path: &str, all: &[Route<usize>]) -> bool {
        let (wanted, wanted_slash) = split(&route.path);
        let (asked, asked_slash) = split(path);
        let equal = |(wanted, asked): (&&str, &&str)| {
            if wanted.starts_with('{') { !asked.is_empty() } else { wanted == asked }
        };
        if route.prefix {
            return asked.len() >= wanted.len() && wanted.iter().zip(&asked).all(equal);
        }
        if asked.len() != wanted.len() || !wanted.iter().zip(&asked).all(equal) {
            return false;
        }
        let shape = |path: &str| -> Vec<String> {
            let segments = split(path).0;
            segments
                .iter()
                .map(|part| if part.starts_with('{') { "{}".to_owned() } else { (*part).to_owned() })
                .collect()
        };
        let twin = all.iter().any(|other| {
            !other.prefix
                && other.host == route.host
                && shape(&other.path) == shape(&route.path)
                && split(&other.path).1 == asked_slash
        });
        wanted_slash == asked_slash || !twin
    }

    pub(super) fn find(
        routes: &[Route<usize>],
        host: &str,
        method: &str,
        path: &str,
    ) -> Result<Option<usize>, Vec<String>> {
        let mut fitting: Vec<_> = routes
            .iter()
            .filter(|route| (route.host.is_empty() || &*route.host == host) && fits(route, path, routes))
            .collect();
        fitting.sort_by_key(|route| {
            let length = std::cmp::Reverse(if route.prefix { kinds(route).len() } else { 0 });
            let methods = (route.methods.is_empty(), !route.methods.contains("HEAD"));
            (route.host.is_empty(), route.prefix, length, kinds(route), methods)
        });
        let wants = |route: &&&Route<usize>| {
            route.methods.is_empty()
                || route.methods.contains(method)
                || (method == "HEAD" && route.methods.contains("GET"))
        };
        match fitting.iter().find(wants) {
            Some(route) => Ok(Some(route.target)),
            None if fitting.is_empty() => Ok(None),
            None => {
                let mut allow: BTreeSet<String> = fitting.iter().flat_map(|route| route.methods.clone()).collect();
                if allow.contains("GET") {
                    allow.insert("HEAD".to_owned());
                }
                Err(allow.into_iter().collect())
            }
        }
    }
}

fn any_route() -> impl Strategy<Value = Route<usize>> {
    let segment = prop_oneof![3 => "[ab]", 1 => Just("{x}".to_owned())];
    let path = (proptest::collection::vec(segment, 0..4), any::<bool>()).prop_map(|(parts, slash)| {
        format!("/{}{}", parts.join("/"), if slash && !parts.is_empty() { "/" } else { "" })
    });
    let methods = proptest::collection::btree_set(
        prop_oneof![Just("GET".to_owned()), Just("POST".to_owned()), Just("HEAD".to_owned())],
        0..3,
    );
    (methods, path, any::<bool>(), prop_oneof![3 => Just(""), 1 => Just("h")]).prop_map(
        |(methods, path, prefix, host)| {
            let rewrite = RouteRewrite::default();
            Route { methods, path: path.into(), prefix, rewrite, host: host.into(), target: 0 }
        },
    )
}

/// Patterns of every kind, most of them valid.
fn any_pattern() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just("/".to_owned()),
        3 => "[a-z]{1,3}",
        3 => "\\{[a-z]{1,3}\\}",
        2 => "\\{[a-z]{1,2}:[a-z0-9\\[\\](){},.*+|^$-]{0,8}\\}",
        1 => "[{}:*.%\\[\\]()\u{fc}-]{1,3}",
        1 => "%[0-9a-fA-F]{2}",
        1 => Just("{p*}".to_owned()),
        1 => Just(".milepost".to_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| format!("/{}", pieces.concat()))
}

/// What the model stores for a path, or `None` if it rejects the path.
fn stored(path: &str, prefix: bool) -> Option<RouteSpec> {
    let target = TargetPut { function: UnitName::config(), version: Selector::Latest };
    let (methods, path, host) = (BTreeSet::new(), path.to_owned(), String::new());
    RoutePut { methods, path, prefix, strip: false, fission: false, host, target }.resolve(None).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn accepts_and_finds_every_path_that_the_model_accepts(path in any_pattern(), prefix in any::<bool>()) {
        let Some(spec) = stored(&path, prefix) else { return Ok(()) };
        let (table, errors) = RouteTable::with_errors(vec![route("GET", &spec.path, spec.prefix, "", "it")]);
        prop_assert_eq!(errors, vec![], "{}", path);
        prop_assert_eq!(table.len(), 1);
        // A request in which every variable is `x`. That cannot match arbitrary regular
        // expressions.
        if path.contains(':') {
            return Ok(());
        }
        let asked = pattern::names(&path).fold(path.clone(), |path, name| path.replacen(&format!("{{{name}}}"), "x", 1));
        prop_assert!(matches!(table.find("", &Method::GET, &asked), Lookup::Found { .. }), "{} for {}", asked, path);
    }

    #[test]
    fn agrees_with_the_naive_implementation(
        mut routes in proptest::collection::vec(any_route(), 0..12),
        parts in proptest::collection::vec("[abc]?", 0..5),
        slash in any::<bool>(),
        method in prop_oneof![Just("GET"), Just("HEAD"), Just("POST"), Just("PUT")],
        host in prop_oneof![Just("h"), Just("other")],
    ) {
        for (at, route) in routes.iter_mut().enumerate() {
            route.target = at;
        }
        let path = format!("/{}{}", parts.join("/"), if slash { "/" } else { "" });
        let table = RouteTable::new(routes.clone());
        let found = match table.find(host, &method.parse().expect("a method"), &path) {
            Lookup::Found { target, .. } => Ok(Some(*target)),
            Lookup::OtherMethods(methods) => Err(methods.into_iter().map(str::to_owned).collect()),
            Lookup::Nothing => Ok(None),
        };
        prop_assert_eq!(found, naive::find(&routes, host, method, &path), "{} {} {}", host, method, path);
    }

    #[test]
    fn arbitrary_patterns_and_paths_never_panic(pattern in "\\PC{0,24}", path in "/\\PC{0,24}", prefix in any::<bool>()) {
        let table = RouteTable::new(vec![route("GET", &pattern, prefix, "", "x")]);
        table.find("", &Method::GET, &path);
    }
}
