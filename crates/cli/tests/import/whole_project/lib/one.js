exports.main = 1
