import type { ComponentType } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { recoveries } from '../api/connection.js'
import { access, hasRole, loadAccess, signOut } from '../api/role.js'
import { signInCount, signInState } from '../api/sign-in.js'
import { page } from '../browser.js'
import { EmptyState } from '../components/basics.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { itemTitle } from '../components/page-title.js'
import { Toast, toast } from '../components/toast.js'
import { formatCount } from '../format.js'
import { rangeQueryOf, route, urlFor } from '../route.js'
import { AlertBanner, useProblems } from './alerts.js'
import { ConnectionBanner, ConnectionIndicator } from './connection-banner.js'
import { FleetLostBanner } from './fleet-lost-banner.js'
import { PAGES } from './pages.js'
import { openPalette, Palette } from './palette.js'
import { RangePicker, ZoneSwitch } from './range-picker.js'
import { SignInForm } from './sign-in-form.js'

/**
 * Makes a link of the menu visible: on a narrow screen the list scrolls sideways, on a short one the menu scrolls down.
 * `scrollIntoView` would do it, but in current browsers it also moves the point from which Tab continues, so that the
 * first Tab on a new page would skip the link to the content and the menu up to this link.
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
    menu.scrollTop +=
      Math.ceil(Math.max(target.bottom - bottom, 0)) + Math.floor(Math.min(target.top - top, 0))
  }
}

function Menu({ path, openBreakers }: { path: string; openBreakers: number }) {
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    const link = list.current?.querySelector('[aria-current]')
    if (link) scrollMenuTo(link)
    // The number of open breakers changes the width of the menu on a narrow screen.
  }, [path, openBreakers])
  return (
    <nav class="menu" aria-label="Pages">
      <a class="brand" href="/">
        <img src="/icon.svg" alt="" width="22" height="22" />
        Holdfast
      </a>
      <ul ref={list}>
        {PAGES.filter(({ role }) => role === undefined || hasRole(role)).map((entry) => (
          <li key={entry.path}>
            <a
              href={urlFor(entry.path, rangeQueryOf(route.value.query))}
              aria-current={entry.path === path ? 'page' : undefined}
            >
              {entry.title}
              {entry.path === '/breakers' && openBreakers > 0 && (
                <>
                  {' '}
                  <span class="badge">
                    {formatCount(openBreakers)}
                    <span class="sr-only"> open</span>
                  </span>
                </>
              )}
            </a>
          </li>
        ))}
      </ul>
      <p class="who">
        <ConnectionIndicator />
        {access.value !== undefined && (
          <span class="role" title={access.value.token ? `as ${access.value.name}` : 'no token is required'}>
            {access.value.role}
          </span>
        )}
        {access.value?.csrf_token !== undefined && (
          <button
            type="button"
            class="link"
            onClick={() => void signOut().catch((error: Error) => toast(error.message))}
          >
            Sign out
          </button>
        )}
      </p>
    </nav>
  )
}

function NotFound() {
  return (
    <EmptyState title="Page not found">
      Go to the <a href="/">overview</a>, or select a page in the menu.
    </EmptyState>
  )
}

/** The application: the menu, the current page, the confirm dialog and messages. */
export function App() {
  const { path } = route.value
  const current = PAGES.find((entry) => entry.path === path)
  const currentSignIn = signInCount.value
  const recovered = recoveries.value

  useEffect(() => {
    const stop = new AbortController()
    // If the server cannot be reached, the role is loaded after the connection has recovered.
    void loadAccess(stop.signal).catch(() => undefined)
    return () => stop.abort()
  }, [currentSignIn, recovered])

  const pageTitle = current?.title ?? 'Page not found'
  const item = itemTitle.value
  useEffect(() => {
    page.title = [...(item === undefined || item === pageTitle ? [] : [item]), pageTitle, 'Holdfast'].join(
      ' · ',
    )
  }, [pageTitle, item])

  return signInState.value === 'allowed' ? (
    <Shell path={path} Body={current?.Body ?? NotFound} />
  ) : (
    <SignInForm />
  )
}

function Shell({ path, Body }: { path: string; Body: ComponentType }) {
  const { alerts, openBreakers } = useProblems()
  return (
    <div class="shell">
      <a class="skip" href="#view">
        Skip to content
      </a>
      <Menu path={path} openBreakers={openBreakers} />
      <div class="column">
        <header class="toolbar">
          <button
            type="button"
            class="secondary search"
            aria-keyshortcuts="Control+K /"
            onClick={() => {
              openPalette.value = 'search'
            }}
          >
            Search <kbd>Ctrl K</kbd>
          </button>
          <RangePicker />
          <ZoneSwitch />
        </header>
        <main id="view" tabIndex={-1}>
          <ConnectionBanner />
          <FleetLostBanner />
          <AlertBanner alerts={alerts} />
          <Body key={path} />
        </main>
      </div>
      <Toast />
      <ConfirmDialog />
      <Palette />
    </div>
  )
}
