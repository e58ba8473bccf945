// Calls both functions, and shows which release and which versions answered.
const at = (id) => document.getElementById(id)

async function ask(path, versionId) {
  const response = await fetch(path)
  const release = response.headers.get('milepost-release') ?? 'unknown'
  at('release').textContent = release
  showReleases(release)
  at(versionId).textContent = response.headers.get('milepost-version') ?? 'unknown'
  if (!response.ok) throw new Error(`${path} answered ${response.status}`)
  return response.json()
}

// Links this release and the one that this browser saw before it. Works at the app's address on
// this machine, `hello.localhost`: elsewhere the page cannot know where the domain begins.
function showReleases(release) {
  const [app, domain, ...more] = location.host.split('.')
  if (!domain?.startsWith('localhost') || more.length > 0) return
  const address = (name) => `${location.protocol}//${app}.${name}.${domain}/`
  const seen = JSON.parse(localStorage.getItem('releases') ?? '[]').filter((name) => name !== release)
  localStorage.setItem('releases', JSON.stringify([...seen, release].slice(-10)))
  at('own').href = address(release)
  at('releases').hidden = false
  if (seen.length === 0) return
  at('before').href = address(seen.at(-1))
  at('with-before').hidden = false
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

const showError = (error) => { at('greeting').textContent = error.message }

at('who').addEventListener('submit', (event) => {
  event.preventDefault()
  greet().catch(showError)
})

greet().catch(showError)
clocks().catch(showError)
setInterval(() => clocks().catch(showError), 5000)
