import { createServer as createTcpServer, type Socket } from 'node:net';

/** A message as the server took it. */
interface TakenMail {
  readonly to: string;
  /** Headers and text, the lines as sent. */
  readonly lines: readonly string[];
}

/**
 * A mail server (RFC 5321) that offers nothing, takes everything else, and remembers each line.
 * @param refusals Answers to commands, by the whole line or its first four characters.
 */
export async function mailServer(
  refusals: Readonly<Record<string, string>> = {},
): Promise<
  AsyncDisposable & { readonly url: string; readonly lines: string[]; readonly mails: TakenMail[] }
> {
  const lines: string[] = [];
  const mails: TakenMail[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    const answer = dialogue(lines, { refusals, mails });
    socket.on('error', () => undefined);
    socket.write('220 test\r\n');
    socket.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\r\n').slice(0, -1)) socket.write(answer(line));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `smtp://127.0.0.1:${port}`,
    lines,
    mails,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** What is said to a line: nothing while a message comes. */
function dialogue(
  lines: string[],
  { refusals, mails }: { refusals: Readonly<Record<string, string>>; mails: TakenMail[] },
): (line: string) => string {
  let message: string[] | null = null;
  let to = '';
  return (line) => {
    lines.push(line);
    if (message !== null && line !== '.') {
      message.push(line);
      return '';
    }
    if (message !== null) mails.push({ to, lines: message });
    message = null;
    const refusal = refusals[line] ?? refusals[line.slice(0, 4)];
    if (refusal !== undefined) return `${refusal}\r\n`;
    to = /^RCPT TO:<(.*)>/.exec(line)?.[1] ?? to;
    if (line === 'DATA') {
      message = [];
      return '354 go on\r\n';
    }
    if (line === 'STARTTLS') return '502 not here\r\n';
    return line === 'QUIT' ? '221 bye\r\n' : '250 fine\r\n';
  };
}
