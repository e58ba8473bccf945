//! How instances come and go.

use crate::harness::Place;

#[tokio::test]
async fn a_python_function_answers_and_its_instance_is_used_again() {
    let place = Place::new().await;
    let hello = place.python("import os\ndef main(request):\n    return 'hello %d' % os.getpid()\n", |_| {});
    let first = place.call(&hello, "r1").await.expect("an answer");
    assert_eq!(first.status, 200);
    assert_eq!(first.headers["content-type"], "text/html; charset=utf-8");
    assert!(first.text().starts_with("hello "), "{}", first.text());
    for _ in 0..20 {
        assert_eq!(place.call(&hello, "r2").await.expect("an answer").text(), first.text());
    }
    assert_eq!(place.status(&hello).instances, 1);
    place.stop().await;
}

#[tokio::test]
async fn a_node_function_answers() {
    let place = Place::new().await;
    let code = "module.exports = async (context) => ({status: 201, body: 'hi ' + context.request.method})";
    let hello = place.node(code, |_| {});
    let answer = place.call(&hello, "r1").await.expect("an answer");
    assert_eq!((answer.status, answer.text()), (201, "hi POST"));
    place.stop().await;
}
