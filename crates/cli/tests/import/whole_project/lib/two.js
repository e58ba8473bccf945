exports.main = 2
