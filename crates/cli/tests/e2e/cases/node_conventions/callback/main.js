exports.reply = (context, callback) => callback(418, "short and stout", { "x-kind": "teapot" });
