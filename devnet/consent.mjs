// A browser without a window: opens the authorization page of a service, signs in, consents or refuses, and follows the
// redirect to the application that waits for it.
import http from 'node:http'

class Browser {
  #cookies = new Map()

  request(method, address, headers = {}, body) {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return new Promise((resolve, reject) => {
      const request = http.request(new URL(address), { method, headers: { 'user-agent': 'devnet', cookie, ...headers } }, (response) => {
        for (const line of response.headers['set-cookie'] ?? []) {
          const [pair] = line.split(';')
          const at = pair.indexOf('=')
          this.#cookies.set(pair.slice(0, at), pair.slice(at + 1))
        }
        let text = ''
        response.on('data', (chunk) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
      })
      request.on('error', reject)
      request.end(body)
    })
  }

  visit(address, from, headers = {}) {
    return this.request('GET', address, { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': from, ...headers })
  }

  cookie(name) {
    return this.#cookies.get(name)
  }
}

export const consent = async ({ url, handle, password, deny = false }) => {
  const browser = new Browser()
  const page = await browser.visit(url, 'none')
  if (page.status !== 200) throw new Error(`the authorization page answered ${page.status}`)
  const { origin } = new URL(url)
  const call = async (name, body, headers = {}) => {
    const answer = await browser.request('POST', `${origin}/@atproto/oauth-provider/~api/${name}`, {
      'content-type': 'application/json', origin, referer: url, 'x-csrf-token': browser.cookie('csrf-token'),
      'sec-fetch-mode': 'same-origin', 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty', ...headers,
    }, JSON.stringify(body))
    if (answer.status !== 200) throw new Error(`${name} answered ${answer.status}`)
    return JSON.parse(answer.text)
  }
  let next
  if (deny) {
    next = (await call('reject', {})).url
  } else {
    const signedIn = await call('sign-in', { locale: 'en', username: handle, password, remember: false })
    const bearer = signedIn.ephemeralToken ? { authorization: `Bearer ${signedIn.ephemeralToken}` } : {}
    next = (await call('consent', { did: signedIn.account.did ?? signedIn.account.sub }, bearer)).url
  }
  const redirect = await browser.visit(next, 'same-origin', { referer: url })
  const target = redirect.headers.location
  if (!target) throw new Error(`there was no redirect (${redirect.status})`)
  const arrived = await new Browser().visit(target, 'cross-site')
  // The code is for tests that look for where it must not be.
  const code = new URL(target).searchParams.get('code') ?? ''
  return { target: new URL(target).origin, status: arrived.status, page: arrived.text, code }
}
