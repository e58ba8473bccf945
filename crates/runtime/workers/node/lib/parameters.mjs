// Reads a function's source text.

/** The names of a function's first parameters, from its source text. */
export function parameters(target) {
  const text = Function.prototype.toString.call(target)
  const bare = /^(?:async\s+)?([\w$]+)\s*=>/.exec(text)
  if (bare) return [bare[1]]
  const open = text.indexOf('(')
  if (open < 0) return []
  const found = []
  let depth = 0
  let start = open + 1
  for (let at = open; at < text.length; at++) {
    const letter = text[at]
    if (letter === '(' || letter === '{' || letter === '[') depth++
    else if (letter === ')' || letter === '}' || letter === ']') depth--
    if ((depth === 1 && letter === ',') || depth === 0) {
      const one = text
        .slice(start, at)
        .replace(/\/\*.*?\*\/|\/\/.*$/gms, '')
        .trim()
      if (one !== '') found.push(/^[{[]/.test(one) ? one : one.replace(/^\.\.\./, '').split(/[\s=]/, 1)[0])
      start = at + 1
      if (depth === 0) break
    }
  }
  return found
}
