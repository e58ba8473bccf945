exports.main = 3
