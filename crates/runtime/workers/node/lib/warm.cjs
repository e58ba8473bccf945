// Loaded ahead of time, so that the first CommonJS function does not pay for loading the module
// system.
module.exports = {}
