use std::net::TcpListener;

use milepost_testkit::postgres::Cluster;

use super::*;

const PORT: &str = "SELECT CAST(current_setting('port') AS BIGINT)";

#[tokio::test]
async fn the_first_host_that_accepts_writes_is_used_and_remembered() {
    let (mut first, mut second) = (Cluster::start_private(false), Cluster::start_private(false));
    let ports = [i64::from(first.port()), i64::from(second.port())];
    first.execute("ALTER SYSTEM SET default_transaction_read_only = on");
    first.execute("SELECT pg_reload_conf()");
    let url = format!("postgres://milepost@127.0.0.1:{},127.0.0.1:{}/postgres", ports[0], ports[1]);
    let any = open(&url).expect("a URL");
    assert_eq!(number(&any, PORT).await.expect("it answers"), ports[0]);
    let postgres = open(&format!("{url}?target_session_attrs=read-write")).expect("a URL");
    milepost_testkit::eventually(std::time::Duration::from_secs(20), async || {
        number(&postgres, PORT).await.is_ok_and(|port| port == ports[1])
    })
    .await;
    assert_eq!(postgres.connector.remembered(), 1);

    first.stop();
    second.stop();
    let error = loop {
        // Broken connections of the pool are found first.
        match number(&postgres, PORT).await {
            Err(error) if whole(&error).starts_with("could not connect") => break whole(&error),
            _ => {}
        }
    };
    let refused = |port: i64| format!("127.0.0.1:{port}: Connection refused (os error 111)");
    assert_eq!(error, format!("could not connect to PostgreSQL: {}; {}", refused(ports[0]), refused(ports[1])));
}

#[tokio::test]
async fn each_host_is_named_with_its_own_problem() {
    let database = milepost_testkit::postgres::database();
    let port =
        Address::parse(&database.url).expect("a URL").hosts[0].name.rsplit_once(':').expect("a port").1.to_owned();
    let postgres = open(&format!("postgres://milepost@127.0.0.1:1,127.0.0.1:{port}/nowhere")).expect("a URL");
    let error = number(&postgres, PORT).await.expect_err("no such database");
    assert_eq!(
        whole(&error),
        format!(
            "could not connect to PostgreSQL: 127.0.0.1:1: Connection refused (os error 111); \
             127.0.0.1:{port}: FATAL: database \"nowhere\" does not exist"
        )
    );
}

#[tokio::test]
async fn a_host_that_never_answers_does_not_hide_the_next() {
    let database = milepost_testkit::postgres::database();
    // Connections wait in its backlog for ever.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = Address::parse(&database.url).expect("a URL").hosts[0].name.clone();
    let name = database.url.rsplit_once('/').expect("a database").1;
    let url = format!("postgres://milepost@{},{host}/{name}", silent.local_addr().expect("an address"));
    let postgres = open(&url).expect("a URL");
    assert!(number(&postgres, PORT).await.is_ok());
}
