import { useEffect, useRef } from 'preact/hooks'
import { recoveries } from '../api/connection.js'
import { access, loadAccess } from '../api/role.js'
import { token, tokenRequest } from '../api/token.js'
import { page } from '../browser.js'
import { EmptyState } from '../components/basics.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { Toast } from '../components/toast.js'
import { route } from '../route.js'
import { ConnectionBanner, ConnectionIndicator } from './connection-banner.js'
import { FleetLostBanner } from './fleet-lost-banner.js'
import { PAGES } from './pages.js'
import { TokenGate } from './token-gate.js'

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
        {PAGES.map((view) => (
          <li key={view.path}>
            <a href={view.path} aria-current={view.path === path ? 'page' : undefined}>
              {view.title}
            </a>
          </li>
        ))}
      </ul>
      <p class="who">
        <ConnectionIndicator />
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
    <EmptyState title="There is no such view">
      Go to the <a href="/">overview</a>, or choose from the menu.
    </EmptyState>
  )
}

/** The page: the menu, the view that the address names, and what is asked and said beside it. */
export function App() {
  const { path } = route.value
  const view = PAGES.find((one) => one.path === path)
  const shown = token.value
  const recovered = recoveries.value

  useEffect(() => {
    // What one token may do is not what the next may.
    access.value = undefined
  }, [shown])
  useEffect(() => {
    const stop = new AbortController()
    // Where the server cannot be reached, the role is learnt when it can.
    void loadAccess(stop.signal).catch(() => undefined)
    return () => stop.abort()
  }, [shown, recovered])

  useEffect(() => {
    page.title = `${view?.title ?? 'Not found'} · Holdfast`
  }, [view])

  if (tokenRequest.value !== 'no') return <TokenGate />
  const Body = view?.Body ?? NotFound
  return (
    <div class="shell">
      <a class="skip" href="#view">
        Skip to the view
      </a>
      <Menu path={path} />
      <main id="view" tabIndex={-1}>
        <ConnectionBanner />
        <FleetLostBanner />
        <Body key={path} />
      </main>
      <Toast />
      <ConfirmDialog />
    </div>
  )
}
