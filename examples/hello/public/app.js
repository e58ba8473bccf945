// Calls both functions, and shows which release and which versions answered.
const at = (id) => document.getElementById(id)

async function ask(path, versionId) {
  const response = await fetch(path)
  at('release').textContent = response.headers.get('milepost-release') ?? 'unknown'
  at(versionId).textContent = response.headers.get('milepost-version') ?? 'unknown'
  if (!response.ok) throw new Error(`${path} answered ${response.status}`)
  return response.json()
}

async function greet() {
  const query = new URLSearchParams({ name: at('name').value })
  at('greeting').textContent = (await ask(`/greet?${query}`, 'greet-version')).text
}

async function clocks() {
  const lines = (await ask('/clock', 'clock-version')).map(({ zone, time }) => {
    const line = document.createElement('li')
    const shown = document.createElement('time')
    shown.textContent = time
    line.append(zone.split('/').pop().replaceAll('_', ' '), shown)
    return line
  })
  at('clocks').replaceChildren(...lines)
}

const tell = (error) => { at('greeting').textContent = error.message }

at('who').addEventListener('submit', (event) => {
  event.preventDefault()
  greet().catch(tell)
})

greet().catch(tell)
clocks().catch(tell)
setInterval(() => clocks().catch(tell), 5000)
