import { useEffect, useRef } from 'preact/hooks'
import { access, learnAccess } from '../api/role.js'
import { token, wanted } from '../api/token.js'
import { recoveries } from '../feed/connection.js'
import { page } from '../page.js'
import { Asker } from '../parts/ask.js'
import { Empty } from '../parts/basics.js'
import { Notice } from '../parts/notice.js'
import { route } from '../route.js'
import { Alone } from './alone.js'
import { Line, Pulse } from './line.js'
import { TokenGate } from './token-gate.js'
import { VIEWS } from './views.js'

/**
 * Makes a link of the menu visible: on a narrow screen the list scrolls sideways, on a short one the menu scrolls down.
 * `scrollIntoView` would do it, but in current browsers it also moves the point from which Tab continues, so that the
 * first Tab on a new page would skip the link to the view and all of the menu up to here.
 */
function scrollMenuTo(link: Element): void {
  const target = link.getBoundingClientRect()
  const list = link.closest('ul')
  if (list) {
    const { left, width } = list.getBoundingClientRect()
    list.scrollLeft += target.left + target.width / 2 - (left + width / 2)
  }
  const menu = link.closest('nav')
  if (menu) {
    const { top, bottom } = menu.getBoundingClientRect()
    menu.scrollTop += Math.max(target.bottom - bottom, 0) + Math.min(target.top - top, 0)
  }
}

function Menu({ path }: { path: string }) {
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    const link = list.current?.querySelector('[aria-current]')
    if (link) scrollMenuTo(link)
  }, [path])
  return (
    <nav class="menu" aria-label="Views">
      <a class="brand" href="/">
        <img src="/icon.svg" alt="" width="22" height="22" />
        Holdfast
      </a>
      <ul ref={list}>
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
        {access.value !== undefined && (
          <span class="role" title={access.value.token ? `as ${access.value.name}` : 'no token is needed'}>
            {access.value.role}
          </span>
        )}
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
    // What one token may do is not what the next may.
    access.value = undefined
  }, [shown])
  useEffect(() => {
    const stop = new AbortController()
    // Where the server cannot be reached, the role is learnt when it can.
    void learnAccess(stop.signal).catch(() => undefined)
    return () => stop.abort()
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
        <Alone />
        <Body key={path} />
      </main>
      <Notice />
      <Asker />
    </div>
  )
}
