import { useEffect } from 'preact/hooks'
import { learnRole, role } from '../api/role.js'
import { token, wanted } from '../api/token.js'
import { recoveries } from '../feed/connection.js'
import { page } from '../page.js'
import { Asker } from '../parts/ask.js'
import { Empty } from '../parts/basics.js'
import { Notice } from '../parts/notice.js'
import { route } from '../route.js'
import { Line, Pulse } from './line.js'
import { TokenGate } from './token-gate.js'
import { VIEWS } from './views.js'

function Menu({ path }: { path: string }) {
  return (
    <nav class="menu" aria-label="Views">
      <a class="brand" href="/">
        Holdfast
      </a>
      <ul>
        {VIEWS.map((view) => (
          <li key={view.path}>
            <a href={view.path} aria-current={view.path === path ? 'page' : undefined}>
              {view.title}
            </a>
          </li>
        ))}
      </ul>
      <p class="who">
        <Pulse />
        {role.value !== undefined && <span class="role">{role.value}</span>}
      </p>
    </nav>
  )
}

function NotFound() {
  return (
    <Empty title="There is no such view">
      Go to the <a href="/">overview</a>, or choose from the menu.
    </Empty>
  )
}

/** The page: the menu, the view that the address names, and what is asked and said beside it. */
export function App() {
  const { path } = route.value
  const view = VIEWS.find((one) => one.path === path)
  const shown = token.value
  const recovered = recoveries.value

  useEffect(() => {
    // Where the server cannot be reached, the role is learnt when it can.
    void learnRole().catch(() => undefined)
  }, [shown, recovered])

  useEffect(() => {
    page.title = `${view?.title ?? 'Not found'} · Holdfast`
  }, [view])

  if (wanted.value !== 'no') return <TokenGate />
  const Body = view?.Body ?? NotFound
  return (
    <div class="shell">
      <a class="skip" href="#view">
        Skip to the view
      </a>
      <Menu path={path} />
      <main id="view" tabIndex={-1}>
        <Line />
        <Body key={path} />
      </main>
      <Notice />
      <Asker />
    </div>
  )
}
