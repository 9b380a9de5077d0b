// One question at a time, and the latest only.

const PATIENCE = 200; // ms that a question under way may go on when a newer one waits: most end sooner than a worker starts

/** Calls `answer(question, signal)` for the latest question; what is asked meanwhile waits, and takes its place. */
export class Latest {
    #answer;
    #next;
    #isRunning = false;
    #controller = new AbortController();
    #started = 0;
    #timer;

    constructor(answer) {
        this.#answer = answer;
    }

    async ask(question) {
        this.#next = question;
        if (this.#isRunning) {
            const controller = this.#controller, left = PATIENCE - (performance.now() - this.#started);
            this.#timer ??= setTimeout(() => controller.abort(), Math.max(left, 0));
            return;
        }
        this.#isRunning = true;
        try {
            while (this.#next !== undefined) await this.#answerNext();
        } finally {
            this.#isRunning = false;
        }
    }

    async #answerNext() {
        const asked = this.#next;
        this.#next = undefined;
        this.#controller = new AbortController();
        this.#started = performance.now();
        try {
            await this.#answer(asked, this.#controller.signal);
        } catch (error) {
            if (error.name !== "AbortError") throw error;
        } finally {
            clearTimeout(this.#timer);
            this.#timer = undefined;
        }
    }
}
