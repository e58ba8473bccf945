const milepost = globalThis[Symbol.for('milepost')]
export default milepost
export const { CallError, call, config, requestId, secret } = milepost
