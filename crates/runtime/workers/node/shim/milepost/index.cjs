module.exports = globalThis[Symbol.for('milepost')]
