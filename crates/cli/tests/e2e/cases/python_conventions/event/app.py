def handler(event, context):
    return {
        "statusCode": 202,
        "headers": {"content-type": "text/plain; charset=utf-8"},
        "body": f"{event['httpMethod']} {event['path']} {event['queryStringParameters']['q']}",
    }
