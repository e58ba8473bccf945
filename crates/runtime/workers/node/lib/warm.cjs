// Loaded once while nobody waits, so that the first CommonJS function does not pay for the module system.
module.exports = {}
